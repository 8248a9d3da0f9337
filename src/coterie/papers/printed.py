"""Numbers as the papers print them."""

from __future__ import annotations

#: F-measures in % as printed: C(25 %), D(25 %), C(10 %), D(10 %), C(5 %), D(5 %).
CC12 = {
    "school": {
        "mtrbp": (40.4, 35.0, 38.6, 30.9, 37.3, 26.0),
        "mtforg": (39.7, 35.1, 38.0, 31.5, 36.9, 25.9),
        "mtbprj": (40.6, 37.4, 40.2, 32.6, 39.4, 23.8),
        "mtbprj-2": (41.2, 39.1, 40.9, 39.0, 39.6, 37.9),
    },
    "acl4": {
        "mtrbp": (66.8, 63.3, 62.0, 58.3, 59.4, 56.1),
        "mtforg": (66.7, 63.4, 62.3, 58.8, 58.8, 56.5),
        "mtbprj": (71.4, 67.7, 66.6, 63.6, 64.0, 60.6),
        "mtbprj-2": (71.7, 68.5, 67.9, 64.9, 64.5, 61.7),
    },
}
CC12_BASELINES = {"school": 39.1, "acl4": 71.5}
#: Accuracy in % (table 3) and mistakes (table 5) as printed: 20newsgroups, Sentiment.
SRDV11 = {
    "STL": ((56.94, 66.31), (4818, 25273)),
    "IPL": ((75.20, 67.24), (3002, 24317)),
    "CMTL": ((73.14, 67.38), (3246, 24212)),
    "BATCHOPT": ((75.78, 67.59), (3008, 24371)),
    "OMTLCOV": ((80.84, 70.49), (2696, 22980)),
    "OMTLLOG": ((81.83, 73.49), (2674, 22023)),
    "OMTLVON": ((76.51, 67.60), (3105, 24474)),
}
#: Correlations of the task vectors 1 and 2, 1 and 3, 2 and 3 as printed (table 2; one run).
SRDV11_CORRELATIONS = {
    "CMTL": (-0.203, 0.522, 0.137),
    "OMTLLOG": (-0.906, 0.000, 0.123),
    "OMTLVON": (-0.817, 0.032, 0.130),
}
#: Accuracy and labels asked for, both in %, as printed (table 4): 20newsgroups, Sentiment.
SRDV11_ASKING = {
    "STL": ((57.87, 67.67), (65.0, 60.4)),
    "IPL": ((75.28, 68.80), (64.5, 60.7)),
    "CMTL": ((73.79, 68.17), (90.25, 87.16)),
    "BATCHOPT": ((74.42, 68.18), (61.7, 71.82)),
    "OMTLCOV": ((79.78, 71.33), (42.45, 57.52)),
    "OMTLLOG": ((80.50, 71.16), (52.94, 33.0)),
    "OMTLVON": ((75.53, 67.63), (56.25, 74.93)),
}
