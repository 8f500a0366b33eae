"""The tables of a store in SQLite, as numbered steps. A step that was released is never changed: a new one follows it.

Times are seconds since 1970, UTC; ranks begin with 1; lists and mappings are JSON. The views have the names and columns
that an agent's memory had (docs/online.md says what was mended), for those whose scripts read them.
"""
# ruff: noqa: S608 (the names are those of this package)

from __future__ import annotations

from karat.store._statements import ODD_OUTCOME
from karat.store._traffic_statements import COUNT_EVENTS, COUNT_QUERIES, INDEXED_PARTS

_TABLES = """
create table queries (
    key integer primary key, id text not null unique, time real not null, text text not null,
    session text not null, user text not null, intent text not null, mode text not null, tool text not null,
    hits text not null, channels text not null, stages text not null, weights text not null,
    answer text, citations text not null, error text not null, latency real, system text not null,
    weight real not null, trace text not null, quality real, attributes text not null, count integer,
    in_golden_set integer not null default 0 check (in_golden_set in (0, 1)), category text not null default ''
);
create index queries_by_time on queries (time, id, count, latency, weight, error);
create index queries_by_session on queries (session, time);
create index queries_by_user on queries (user) where user != '';
create index queries_in_golden_set on queries (key) where in_golden_set = 1;
create table events (
    key integer primary key, id text not null unique, time real not null, kind text not null,
    session text not null, user text not null, query text not null, document text not null,
    rank integer check (rank is null or rank >= 1), value real, weight real not null, attributes text not null
);
create index events_by_time on events (time, id);
create index events_by_session on events (session, time);
create index events_by_user on events (user) where user != '';
create index events_by_query on events (query) where query != '';
create table judgments (
    key integer primary key, query text not null, document text not null,
    grade integer not null check (grade between 0 and 3),
    source text not null check (source in ('manual', 'validated', 'implicit', 'bootstrapped')),
    annotator text not null default '', confidence real not null default 1.0,
    estimate real, low real, high real, n integer, time real not null,
    unique (query, document, source, annotator)
);
create table runs (
    number integer primary key autoincrement, id text not null unique,
    kind text not null check (kind in ('full', 'shadow', 'regression', 'ab_test')),
    feature text not null default '', time real not null, golden text not null, system text not null,
    queries integer not null, latency real, control text not null default '', outcome text not null default '',
    document text not null
);
create index runs_by_feature on runs (feature, time);
create index runs_by_time on runs (time);
create table run_values (
    run text not null references runs (id), measure text not null, segment text not null default '',
    value real, low real, high real, n integer not null, missing text not null default '',
    baseline real, delta real, p real, significant integer, primary key (run, measure, segment)
) without rowid;
create table trials (
    key integer primary key, feature text not null, number integer not null,
    status text not null check (status in ('running', 'graduated', 'rejected', 'paused')),
    log_likelihood_ratio real not null default 0, upper_bound real not null, lower_bound real not null,
    samples integer not null default 0, control_rr_sum real not null default 0,
    treatment_rr_sum real not null default 0, control_ndcg_sum real not null default 0,
    treatment_ndcg_sum real not null default 0,
    least_samples integer not null default 100, threshold real not null default 0.03,
    settings text not null default '{}',
    started real not null, updated real not null, ended real, unique (feature, number)
);
create index trials_by_status on trials (status);
create table shadow_runs (
    key integer primary key, query text not null, feature text not null, control text not null,
    treatment text not null, rank_correlation real, overlap real, top_changed integer, order_differences integer,
    rr_delta real, ndcg_delta real, control_latency real, treatment_latency real, session text not null default '',
    user text not null default '', time real not null
);
create index shadow_runs_by_feature on shadow_runs (feature, time);
create index shadow_runs_by_query on shadow_runs (query);
create index shadow_runs_by_time on shadow_runs (time);
create table segments (name text primary key, position integer not null) without rowid;
create table drops (
    segment text not null, reason text not null, count integer not null, primary key (segment, reason)
) without rowid;
create table damages (
    key integer primary key, segment text not null, file text not null, bytes integer not null, reason text not null,
    time real not null
);
"""

_VIEWS = """
create view eval_queries as select
    key as id, id as query_id, text as query, intent, mode, session as session_id, tool as tool_name,
    (select json_group_array(coalesce(nullif(json_extract(value, '$[6]'), ''), json_extract(value, '$[0]')))
        from json_each(hits)) as result_ids,
    count as result_count, channels as channel_contributions, latency as total_latency_ms, weights as fusion_weights,
    quality as quality_proxy_score, trace as trace_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', time, 'unixepoch') as created_at,
    in_golden_set as is_eval_corpus, nullif(category, '') as eval_category, system as system_fingerprint
from queries;
create view eval_judgments as select
    key as id, query as query_id, document as memory_id, grade as relevance, source,
    nullif(annotator, '') as annotator, confidence, strftime('%Y-%m-%dT%H:%M:%fZ', time, 'unixepoch') as created_at
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
    min(case when measure glob 'MustShowAll@*' then value end) as constitutional_surfacing_rate,
    min(case when measure glob 'ImportanceR@*' then value end) as importance_weighted_recall,
    min(case when measure glob 'ColdRR*' then value end) as cold_start_mrr,
    min(case when measure glob 'SessionLift*' then value end) as session_personalization_lift,
    min(case when measure glob 'Chain@*' then value end) as causal_chain_completeness,
    null as channel_contribution_json,
    min(case when measure glob 'Diversity*' then value end) as result_diversity_score,
    runs.latency as avg_latency_ms, runs.queries as query_count,
    max(case when measure = 'nDCG@10' then low end) as confidence_interval_lower,
    max(case when measure = 'nDCG@10' then high end) as confidence_interval_upper,
    'nDCG@10' as confidence_interval_metric, nullif(runs.control, '') as control_run_id,
    max(case when measure = 'RR@10' then delta end) as mrr_delta,
    max(case when measure = 'nDCG@10' then delta end) as ndcg_delta,
    max(case when measure = 'nDCG@10' then p end) as p_value,
    max(case when measure = 'nDCG@10' then significant end) as is_significant,
    strftime('%Y-%m-%dT%H:%M:%fZ', runs.time, 'unixepoch') as created_at,
    runs.document as per_query_results, runs.golden as golden_fingerprint, runs.system as system_fingerprint
from runs left join run_values on run_values.run = runs.id and segment = '' group by runs.number;
create view eval_feedback as select
    key as id, kind as event_type, session as session_id, nullif(query, '') as query_id,
    nullif(document, '') as memory_id, coalesce(rank, -1) as rank_in_results, attributes as metadata,
    strftime('%Y-%m-%dT%H:%M:%fZ', time, 'unixepoch') as created_at
from events where kind in (
    'read_after_search', 're_search', 'scroll_past', 'reference', 'validate_useful', 'validate_not_useful'
);
create view eval_ab_tests as select
    key as id, feature as feature_id, number as trial_number, status, log_likelihood_ratio, upper_bound, lower_bound,
    samples as sample_count, control_rr_sum as control_mrr_sum, treatment_rr_sum as treatment_mrr_sum,
    control_ndcg_sum, treatment_ndcg_sum, least_samples as min_samples, threshold as graduation_threshold,
    strftime('%Y-%m-%dT%H:%M:%fZ', started, 'unixepoch') as started_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', updated, 'unixepoch') as updated_at,
    case when status = 'graduated' then strftime('%Y-%m-%dT%H:%M:%fZ', ended, 'unixepoch') end as graduated_at
from trials;
create view eval_shadow_runs as select
    key as id, query as query_id, feature as feature_id, control as control_result_ids,
    treatment as treatment_result_ids, rank_correlation, overlap as set_overlap, top_changed as top_result_changed,
    order_differences, rr_delta as mrr_delta, ndcg_delta, control_latency as control_latency_ms,
    treatment_latency as treatment_latency_ms, strftime('%Y-%m-%dT%H:%M:%fZ', time, 'unixepoch') as created_at
from shadow_runs;
"""

_FLAGS = """
create table flags (
    key text primary key, version integer not null check (version >= 1), time real not null, document text not null
) without rowid;
create table flag_changes (
    number integer primary key autoincrement, flag text not null, version integer not null, time real not null,
    author text not null check (author != ''), reason text not null check (reason != ''), before text,
    after text not null, unique (flag, version)
);
"""

_SHADOW_RUNS = """
alter table shadow_runs add column id text;
alter table shadow_runs add column text text not null default '';
alter table shadow_runs add column status text not null default 'answered';
alter table shadow_runs add column error text not null default '';
alter table shadow_runs add column k integer not null default 10;
alter table shadow_runs add column weight real not null default 1;
alter table shadow_runs add column source text not null default 'live';
alter table shadow_runs add column lists integer not null default 1;
alter table shadow_runs add column systems text not null default '["",""]';
alter table shadow_runs add column attributes text not null default '{}';
alter table shadow_runs add column difference text not null default 'not compared';
alter table shadow_runs add column rbo real;
create unique index shadow_runs_by_id on shadow_runs (id);
"""
"""``rank_correlation`` is tau-b, ``overlap`` is Jaccard, both over the first k."""

_TRIALS = """
alter table trials add column version integer not null default 1;
alter table trials add column looks integer not null default 0;
create unique index one_running_trial on trials (feature) where status in ('running', 'paused');
create table trial_batches (
    trial integer not null references trials (key), batch text not null, time real not null,
    primary key (trial, batch)
) without rowid;
create table trial_values (
    trial integer not null references trials (key), series text not null, value real not null,
    count integer not null check (count >= 0), primary key (trial, series, value)
) without rowid;
create table transitions (
    number integer primary key autoincrement, trial integer not null references trials (key),
    version integer not null, time real not null, author text not null check (author != ''),
    reason text not null check (reason != ''), before text not null, after text not null, evidence text not null,
    unique (trial, version)
);
"""

_TRAFFIC = f"""
create table query_traffic (
    hour integer not null, intent text not null, queries integer not null, weight real not null,
    known integer not null, nothing_found integer not null, errors integer not null, primary key (hour, intent)
) without rowid;
create table event_traffic (hour integer primary key, events integer not null);
alter table queries add column part integer not null default 0;
alter table events add column part integer not null default 0;
update queries set part = part_of(case session when '' then id else session end);
update events set part = part_of(session);
create index queries_by_part on queries (time, id, part) where part < {INDEXED_PARTS};
create index events_by_part on events (time, id, part) where part < {INDEXED_PARTS} and session != '';
insert into query_traffic {COUNT_QUERIES} group by 1, 2;
insert into event_traffic {COUNT_EVENTS} group by 1;
"""
"""Hours are in UTC, and counted in the transaction that adds or removes rows."""

_ORIGINS = """
alter table queries add column build text not null default '';
alter table queries add column index_hash text not null default '';
alter table queries add column normaliser text not null default '';
alter table queries add column flags text not null default '{}';
alter table shadow_runs add column answers text not null default '[null,null]';
"""

_TRIAL_LOGS = """
create table stores (id text not null);
insert into stores values (lower(hex(randomblob(16))));
alter table trial_batches add column origin text not null default 'file';
create table trial_counts (
    trial integer not null references trials (key), series text not null, hour integer not null, value real not null,
    count integer not null check (count >= 0), primary key (trial, series, hour, value)
) without rowid;
insert into trial_counts select trial, series, cast(started / 3600 as integer), value, count
    from trial_values join trials on trials.key = trial_values.trial;
drop table trial_values;
create table trial_logs (
    trial integer not null references trials (key), log text not null, version integer not null, state text not null,
    time real not null, primary key (trial, log)
) without rowid;
"""
"""Counts by the hour in which a session ended, for pictures; and how far each log was read, by the id of its store."""

_ALERTS = """
create index queries_by_origin on queries (time, build, index_hash, normaliser)
    where index_hash != '' or normaliser != '';
create table alerts (
    key integer primary key, name text not null, opened real not null, closed real, start real not null,
    evidence text not null
);
create unique index one_open_alert on alerts (name) where closed is null;
create table notices (
    key integer primary key, alert integer not null references alerts (key),
    state text not null check (state in ('open', 'closed')), time real not null, body text not null, claimed real,
    sent real, attempts integer not null default 0, error text not null default '', unique (alert, state)
);
create index notices_to_send on notices (key) where sent is null;
create table watched (name text primary key, start real not null, time real not null, dropped integer not null)
    without rowid;
"""
"""``start`` is when the window begins that an alert was opened by, or that was looked at last."""

_ACKNOWLEDGEMENTS = """
alter table drops add column acknowledged integer not null default 0;
create table acknowledgements (
    number integer primary key autoincrement, time real not null, author text not null check (author != ''),
    reason text not null check (reason != ''), dropped text not null
);
"""
"""What somebody has seen of the records that hosts dropped, by segment; and who, when, why, and how many."""

_TRIAL_SESSIONS = """
create table trial_sessions (
    trial integer not null references trials (key), session blob not null, records blob not null,
    primary key (trial, session)
) without rowid;
"""
"""Digests of the sessions that a trial has measured, and of their records: the same in two logs counts once."""

_ODD_OUTCOMES = f"create index odd_outcomes on events (key) where {ODD_OUTCOME};\n"

MIGRATIONS: tuple[str, ...] = (
    _TABLES + _VIEWS,
    _FLAGS,
    _SHADOW_RUNS,
    _TRIALS,
    _TRAFFIC,
    _ORIGINS,
    _TRIAL_LOGS,
    _ALERTS,
    _ACKNOWLEDGEMENTS,
    _TRIAL_SESSIONS,
    _ODD_OUTCOMES,
)
"""The steps in their order; the number of a store is how many it has taken."""
