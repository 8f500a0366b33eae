"""The table of planted faults: the hotel broken in each of the twelve ways, at least three times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tests.diagnosis.planted import data_faults as data
from tests.diagnosis.planted import system_faults as system
from tests.diagnosis.planted.hotel import Planted

Fault = Callable[[], Planted]

FAULTS: Mapping[str, Sequence[Fault]] = {
    "ids": (data.ids_are_paths, data.ids_are_in_capitals, data.ids_are_hashes, data.ids_are_of_chunks),
    "stale": (data.old_policies_only, data.old_policies_first, data.texts_of_other_documents, data.short_drafts),
    "outside": (
        data.only_markdown,
        data.the_first_forty,
        data.documents_deleted,
        data.questions_of_another_field,
    ),
    "offsets": (
        data.offsets_in_utf16,
        data.offsets_without_a_preamble,
        data.offsets_of_another_layout,
        data.misread_characters,
    ),
    "flips": (system.a_reranker_that_draws_lots, system.noisy_scores, system.two_replicas),
    "tables": (data.tables_dropped, data.tables_flattened, data.tables_read_by_columns),
    "copies": (data.ingested_four_times, data.chunks_of_the_same_document, data.mirrored_with_small_edits),
    "gold": (
        data.best_hits_not_judged,
        data.judged_before_half_of_the_documents_came,
        data.judgments_of_another_query,
    ),
    "cut": (system.pages_of_three, system.asked_for_two, system.a_threshold_on_scores, system.a_shallow_last_stage),
    "mixed": (system.whole_documents, system.very_long_chunks, system.long_chunks_that_overlap),
    "embedding": (
        system.another_model_for_questions,
        system.arbitrary_vectors,
        system.a_model_of_three_dimensions,
        system.vectors_in_another_order,
    ),
    "wording": (data.misspelt_questions, data.questions_in_slang, data.vague_questions),
}
"""The causes in the order of the documentation, each with its faults."""
