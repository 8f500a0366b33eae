"""The tables of a store in PostgreSQL, as numbered steps: a number means the same tables as in SQLite.

Texts are compared by their bytes, as SQLite does. Records are kept in partitions by the day in UTC, which retention
drops whole, so that an id is unique together with its time. Times that are far from now, which would make a table
each, are in the partition ``rest``. An entry of a b-tree has at most 2,700 bytes, which texts from outside may exceed:
they have indexes by hash.
"""
# ruff: noqa: S608 (the names are those of this module)

from __future__ import annotations

from karat.store._statements import ODD_OUTCOME
from karat.store._traffic_statements import INDEXED_PARTS

_COLUMNS = {
    "queries": """
        key bigint not null default nextval('queries_key'), id text collate "C" not null,
        time double precision not null, text text collate "C" not null, session text collate "C" not null,
        "user" text collate "C" not null, intent text collate "C" not null, mode text collate "C" not null,
        tool text collate "C" not null, hits text collate "C" not null, channels text collate "C" not null,
        stages text collate "C" not null, weights text collate "C" not null, answer text collate "C",
        citations text collate "C" not null, error text collate "C" not null, latency double precision,
        system text collate "C" not null, weight double precision not null, trace text collate "C" not null,
        quality double precision, attributes text collate "C" not null, count bigint,
        in_golden_set bigint not null default 0 check (in_golden_set in (0, 1)),
        category text collate "C" not null default '', part bigint not null default 0,
        build text collate "C" not null default '', index_hash text collate "C" not null default '',
        normaliser text collate "C" not null default '', flags text collate "C" not null default '{}'
    """,
    "events": """
        key bigint not null default nextval('events_key'), id text collate "C" not null,
        time double precision not null, kind text collate "C" not null, session text collate "C" not null,
        "user" text collate "C" not null, query text collate "C" not null, document text collate "C" not null,
        rank bigint check (rank is null or rank >= 1), value double precision, weight double precision not null,
        attributes text collate "C" not null, part bigint not null default 0
    """,
    "shadow_runs": """
        key bigint not null default nextval('shadow_runs_key'), query text collate "C" not null,
        feature text collate "C" not null, control text collate "C" not null, treatment text collate "C" not null,
        rank_correlation double precision, overlap double precision, top_changed bigint, order_differences bigint,
        rr_delta double precision, ndcg_delta double precision, control_latency double precision,
        treatment_latency double precision, session text collate "C" not null default '',
        "user" text collate "C" not null default '', time double precision not null, id text collate "C",
        text text collate "C" not null default '', status text collate "C" not null default 'answered',
        error text collate "C" not null default '', k bigint not null default 10,
        weight double precision not null default 1, source text collate "C" not null default 'live',
        lists bigint not null default 1, systems text collate "C" not null default '["",""]',
        attributes text collate "C" not null default '{}',
        difference text collate "C" not null default 'not compared', rbo double precision,
        answers text collate "C" not null default '[null,null]'
    """,
}
NUMBERS = {
    "queries": {"time": "double precision", "latency": "double precision", "weight": "double precision",
                "quality": "double precision", "count": "bigint", "part": "bigint"},
    "events": {"time": "double precision", "rank": "bigint", "value": "double precision",
               "weight": "double precision", "part": "bigint"},
    "shadow_runs": {
        "time": "double precision", "control_latency": "double precision", "treatment_latency": "double precision",
        "k": "bigint", "weight": "double precision", "lists": "bigint", "rbo": "double precision",
        "overlap": "double precision", "rank_correlation": "double precision", "top_changed": "bigint",
        "order_differences": "bigint",
    },
}  # fmt: skip
"""The columns of records that are no texts."""

_PARTITIONED = "\n".join(
    f"""
    create sequence {table}_key;
    create table {table} ({columns}, unique (id, time)) partition by range (time);
    create table {table}_rest partition of {table} default;
    create index {table}_by_key on {table} (key);
    """
    for table, columns in _COLUMNS.items()
)
_INDEXES = f"""
create index queries_by_time on queries (time, id);
create index queries_by_session on queries using hash (session);
create index queries_by_user on queries using hash ("user") where "user" != '';
create index queries_in_golden_set on queries (key) where in_golden_set = 1;
create index queries_by_part on queries (time, id, part) where part < {INDEXED_PARTS};
create index queries_by_origin on queries (time)
    where index_hash != '' or normaliser != '';
create index events_by_time on events (time, id);
create index events_by_session on events using hash (session);
create index events_by_user on events using hash ("user") where "user" != '';
create index events_by_query on events using hash (query) where query != '';
create index events_by_part on events (time, id, part) where part < {INDEXED_PARTS} and session != '';
create index shadow_runs_by_feature on shadow_runs using hash (feature);
create index shadow_runs_by_query on shadow_runs using hash (query);
create index shadow_runs_by_time on shadow_runs (time);
"""

_TABLES = """
create table stores (id text collate "C" not null);
insert into stores values (replace(gen_random_uuid()::text, '-', ''));
create table judgments (
    key bigint generated by default as identity primary key, query text collate "C" not null,
    document text collate "C" not null, grade bigint not null check (grade between 0 and 3),
    source text collate "C" not null check (source in ('manual', 'validated', 'implicit', 'bootstrapped')),
    annotator text collate "C" not null default '', confidence double precision not null default 1.0,
    estimate double precision, low double precision, high double precision, n bigint, time double precision not null
);
create unique index one_judgment on judgments (md5(query), md5(document), source, md5(annotator));
create table runs (
    number bigint generated by default as identity primary key, id text collate "C" not null unique,
    kind text collate "C" not null check (kind in ('full', 'shadow', 'regression', 'ab_test')),
    feature text collate "C" not null default '', time double precision not null, golden text collate "C" not null,
    system text collate "C" not null, queries bigint not null, latency double precision,
    control text collate "C" not null default '', outcome text collate "C" not null default '',
    document text collate "C" not null
);
create index runs_by_feature on runs (feature, time);
create index runs_by_time on runs (time);
create table run_values (
    run text collate "C" not null references runs (id), measure text collate "C" not null,
    segment text collate "C" not null default '', value double precision, low double precision,
    high double precision, n bigint not null, missing text collate "C" not null default '',
    baseline double precision, delta double precision, p double precision, significant bigint,
    primary key (run, measure, segment)
);
create table trials (
    key bigint generated by default as identity primary key, feature text collate "C" not null,
    number bigint not null,
    status text collate "C" not null check (status in ('running', 'graduated', 'rejected', 'paused')),
    log_likelihood_ratio double precision not null default 0, upper_bound double precision not null,
    lower_bound double precision not null, samples bigint not null default 0,
    control_rr_sum double precision not null default 0, treatment_rr_sum double precision not null default 0,
    control_ndcg_sum double precision not null default 0, treatment_ndcg_sum double precision not null default 0,
    least_samples bigint not null default 100, threshold double precision not null default 0.03,
    settings text collate "C" not null default '{}', started double precision not null,
    updated double precision not null, ended double precision, version bigint not null default 1,
    looks bigint not null default 0, unique (feature, number)
);
create index trials_by_status on trials (status);
create unique index one_running_trial on trials (feature) where status in ('running', 'paused');
create table trial_batches (
    trial bigint not null references trials (key), batch text collate "C" not null, time double precision not null,
    origin text collate "C" not null default 'file', primary key (trial, batch)
);
create table trial_counts (
    trial bigint not null references trials (key), series text collate "C" not null, hour bigint not null,
    value double precision not null, count bigint not null check (count >= 0),
    primary key (trial, series, hour, value)
);
create table trial_logs (
    trial bigint not null references trials (key), log text collate "C" not null, version bigint not null,
    state text collate "C" not null, time double precision not null, primary key (trial, log)
);
create table trial_sessions (
    trial bigint not null references trials (key), session bytea not null, records bytea not null,
    primary key (trial, session)
);
create table transitions (
    number bigint generated by default as identity primary key, trial bigint not null references trials (key),
    version bigint not null, time double precision not null, author text collate "C" not null check (author != ''),
    reason text collate "C" not null check (reason != ''), before text collate "C" not null,
    after text collate "C" not null, evidence text collate "C" not null, unique (trial, version)
);
create table flags (
    key text collate "C" primary key, version bigint not null check (version >= 1), time double precision not null,
    document text collate "C" not null
);
create table flag_changes (
    number bigint generated by default as identity primary key, flag text collate "C" not null,
    version bigint not null, time double precision not null, author text collate "C" not null check (author != ''),
    reason text collate "C" not null check (reason != ''), before text collate "C", after text collate "C" not null,
    unique (flag, version)
);
create table segments (name text collate "C" primary key, position bigint not null);
create table drops (
    segment text collate "C" not null, reason text collate "C" not null, count bigint not null,
    acknowledged bigint not null default 0, primary key (segment, reason)
);
create table damages (
    key bigint generated by default as identity primary key, segment text collate "C" not null,
    file text collate "C" not null, bytes bigint not null, reason text collate "C" not null,
    time double precision not null
);
create table acknowledgements (
    number bigint generated by default as identity primary key, time double precision not null,
    author text collate "C" not null check (author != ''), reason text collate "C" not null check (reason != ''),
    dropped text collate "C" not null
);
create table query_traffic (
    hour bigint not null, intent text collate "C" not null, queries bigint not null,
    weight double precision not null, known bigint not null, nothing_found bigint not null, errors bigint not null,
    primary key (hour, intent)
);
create table event_traffic (hour bigint primary key, events bigint not null);
create table alerts (
    key bigint generated by default as identity primary key, name text collate "C" not null,
    opened double precision not null, closed double precision, start double precision not null,
    evidence text collate "C" not null
);
create unique index one_open_alert on alerts (name) where closed is null;
create table notices (
    key bigint generated by default as identity primary key, alert bigint not null references alerts (key),
    state text collate "C" not null check (state in ('open', 'closed')), time double precision not null,
    body text collate "C" not null, claimed double precision, sent double precision,
    attempts bigint not null default 0, error text collate "C" not null default '', unique (alert, state)
);
create index notices_to_send on notices (key) where sent is null;
create table watched (
    name text collate "C" primary key, start double precision not null, time double precision not null,
    dropped bigint not null
);
"""

_FUNCTIONS = """
create function add_partition(base text, day bigint) returns void language plpgsql security definer
    set search_path from current as $$
declare
    today constant bigint := floor(extract(epoch from now()) / 86400);
    own constant text := base || '_' || to_char(date '1970-01-01' + day::integer, 'YYYYMMDD');
    there boolean;
begin
    if base not in ('queries', 'events', 'shadow_runs') then return; end if;
    if day not between today - 400 and today + 1 then return; end if;
    if to_regclass(own) is not null then return; end if;
    execute format('select exists (select from %I where time >= $1 and time < $2)', base || '_rest')
        using day * 86400.0, (day + 1) * 86400.0 into there;
    if there then return; end if;
    execute format('create table %I (like %I including defaults including constraints)', own, base);
    execute format('alter table %I attach partition %I for values from (%s) to (%s)',
        base, own, day * 86400, (day + 1) * 86400);
end $$;
revoke execute on function add_partition from public;
"""
"""Makes the table of a day, unless its rows are in the rest already. Writers may do so without owning the tables.

A table that is attached does not lock out those who read the others, as one that is made in its place would.
"""

_TIME = "to_char(to_timestamp({}) at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
_VIEWS = f"""
create view eval_queries as select
    key as id, id as query_id, text as query, intent, mode, session as session_id, tool as tool_name,
    (select '[' || coalesce(string_agg(to_json(coalesce(nullif(hit ->> 6, ''), hit ->> 0))::text, ','), '') || ']'
        from json_array_elements(hits::json) as hit) as result_ids,
    count as result_count, channels as channel_contributions, latency as total_latency_ms, weights as fusion_weights,
    quality as quality_proxy_score, trace as trace_id, {_TIME.format("time")} as created_at,
    in_golden_set as is_eval_corpus, nullif(category, '') as eval_category, system as system_fingerprint
from queries;
create view eval_judgments as select
    key as id, query as query_id, document as memory_id, grade as relevance, source,
    nullif(annotator, '') as annotator, confidence, {_TIME.format("time")} as created_at
from judgments;
create view eval_results as select
    runs.number as id, runs.id as run_id, runs.kind as run_type, nullif(runs.feature, '') as feature_id,
    max(case when measure = 'RR@5' then value end) as mrr_at_5,
    max(case when measure = 'RR@10' then value end) as mrr_at_10,
    max(case when measure = 'nDCG@5' then value end) as ndcg_at_5,
    max(case when measure = 'nDCG@10' then value end) as ndcg_at_10,
    max(case when measure = 'nDCG@20' then value end) as ndcg_at_20,
    max(case when measure = 'R@5' then value end) as recall_at_5,
    max(case when measure = 'R@10' then value end) as recall_at_10,
    min(case when measure like 'MustShowAll@%' then value end) as constitutional_surfacing_rate,
    min(case when measure like 'ImportanceR@%' then value end) as importance_weighted_recall,
    min(case when measure like 'ColdRR%' then value end) as cold_start_mrr,
    min(case when measure like 'SessionLift%' then value end) as session_personalization_lift,
    min(case when measure like 'Chain@%' then value end) as causal_chain_completeness,
    null::text as channel_contribution_json,
    min(case when measure like 'Diversity%' then value end) as result_diversity_score,
    runs.latency as avg_latency_ms, runs.queries as query_count,
    max(case when measure = 'nDCG@10' then low end) as confidence_interval_lower,
    max(case when measure = 'nDCG@10' then high end) as confidence_interval_upper,
    'nDCG@10' as confidence_interval_metric, nullif(runs.control, '') as control_run_id,
    max(case when measure = 'RR@10' then delta end) as mrr_delta,
    max(case when measure = 'nDCG@10' then delta end) as ndcg_delta,
    max(case when measure = 'nDCG@10' then p end) as p_value,
    max(case when measure = 'nDCG@10' then significant end) as is_significant,
    {_TIME.format("runs.time")} as created_at,
    runs.document as per_query_results, runs.golden as golden_fingerprint, runs.system as system_fingerprint
from runs left join run_values on run_values.run = runs.id and segment = '' group by runs.number;
create view eval_feedback as select
    key as id, kind as event_type, session as session_id, nullif(query, '') as query_id,
    nullif(document, '') as memory_id, coalesce(rank, -1) as rank_in_results, attributes as metadata,
    {_TIME.format("time")} as created_at
from events where kind in (
    'read_after_search', 're_search', 'scroll_past', 'reference', 'validate_useful', 'validate_not_useful'
);
create view eval_ab_tests as select
    key as id, feature as feature_id, number as trial_number, status, log_likelihood_ratio, upper_bound, lower_bound,
    samples as sample_count, control_rr_sum as control_mrr_sum, treatment_rr_sum as treatment_mrr_sum,
    control_ndcg_sum, treatment_ndcg_sum, least_samples as min_samples, threshold as graduation_threshold,
    {_TIME.format("started")} as started_at, {_TIME.format("updated")} as updated_at,
    case when status = 'graduated' then {_TIME.format("ended")} end as graduated_at
from trials;
create view eval_shadow_runs as select
    key as id, query as query_id, feature as feature_id, control as control_result_ids,
    treatment as treatment_result_ids, rank_correlation, overlap as set_overlap, top_changed as top_result_changed,
    order_differences, rr_delta as mrr_delta, ndcg_delta, control_latency as control_latency_ms,
    treatment_latency as treatment_latency_ms, {_TIME.format("time")} as created_at
from shadow_runs;
"""

FIRST = 10
"""The version with which stores in PostgreSQL begin: what SQLite has after its first ten steps."""
MIGRATIONS: tuple[str, ...] = (
    _PARTITIONED + _INDEXES + _TABLES + _FUNCTIONS + _VIEWS,
    f"create index odd_outcomes on events (key) where {ODD_OUTCOME};",
)
"""The steps in their order: the first leads to version ``FIRST``, each other one further."""
