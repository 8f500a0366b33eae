"""How far a judge agrees with people, with intervals, and whether labels were drawn at random."""

from karat.stats.trust._agreement import BINS, measure_agreement, round_to_levels
from karat.stats.trust._estimate import Estimate
from karat.stats.trust._people import PeopleAgreement, measure_people
from karat.stats.trust._raters import LEAST_GROUPS, RaterAgreement, measure_raters
from karat.stats.trust._share import check_draw, estimate_share

__all__ = [
    "BINS",
    "LEAST_GROUPS",
    "Estimate",
    "PeopleAgreement",
    "RaterAgreement",
    "check_draw",
    "estimate_share",
    "measure_agreement",
    "measure_people",
    "measure_raters",
    "round_to_levels",
]
