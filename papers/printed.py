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
#: Accuracy in % with its deviation over 20 runs (table 3) and mistakes (table 5) as printed: 20newsgroups, Sentiment,
#: Spam. Deviations of mistakes are not printed.
SRDV11 = {
    "STL": (((56.94, 3.32), (66.31, 2.14), (76.45, 1.56)), (4818, 25273, 742)),
    "IPL": (((75.20, 2.35), (67.24, 1.40), (91.02, 0.77)), (3002, 24317, 348)),
    "CMTL": (((73.14, 2.35), (67.38, 1.82), (90.17, 0.66)), (3246, 24212, 389)),
    "BATCHOPT": (((75.78, 2.22), (67.59, 1.40), (91.10, 0.80)), (3008, 24371, 347)),
    "OMTLCOV": (((80.84, 0.70), (70.49, 0.53), (92.17, 0.52)), (2696, 22980, 337)),
    "OMTLLOG": (((81.83, 0.46), (73.49, 0.53), (91.35, 1.12)), (2674, 22023, 347)),
    "OMTLVON": (((76.51, 1.54), (67.60, 0.83), (91.05, 1.05)), (3105, 24474, 380)),
}
#: Correlations of the task vectors 1 and 2, 1 and 3, 2 and 3 as printed (table 2; one run).
SRDV11_CORRELATIONS = {
    "CMTL": (-0.203, 0.522, 0.137),
    "OMTLLOG": (-0.906, 0.000, 0.123),
    "OMTLVON": (-0.817, 0.032, 0.130),
}
#: Accuracy in % with its deviation, and labels asked for, as printed (table 4): 20newsgroups, Sentiment, Spam.
SRDV11_ASKING = {
    "STL": (((57.87, 2.18), (67.67, 2.63), (76.82, 1.90)), (7334, 44224, 1827)),
    "IPL": (((75.28, 1.92), (68.80, 1.06), (90.98, 0.52)), (7265, 44437, 1917)),
    "CMTL": (((73.79, 2.52), (68.17, 1.42), (89.96, 0.75)), (10171, 63810, 2276)),
    "BATCHOPT": (((74.42, 2.18), (68.18, 1.82), (90.93, 0.59)), (6956, 52577, 1898)),
    "OMTLCOV": (((79.78, 0.46), (71.33, 0.68), (90.72, 0.87)), (4784, 42112, 1347)),
    "OMTLLOG": (((80.50, 0.53), (71.16, 0.60), (90.32, 0.85)), (5966, 24162, 1288)),
    "OMTLVON": (((75.53, 2.99), (67.63, 2.23), (89.14, 1.66)), (6336, 54854, 1583)),
}
#: The labels that there are to ask for, as the reductions have it that table 4 prints beside the counts. Of Spam the
#: text says that 4000 records are for training and 3000 for testing.
SRDV11_LABELS = (11269, 73212, 3000)
