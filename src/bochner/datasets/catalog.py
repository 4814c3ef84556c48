"""Catalog of known data sets: checksum of the file, shape, and a copy on OpenML."""

from dataclasses import dataclass


@dataclass(frozen=True)
class OpenMLCopy:
    """Copy of a data set on OpenML: name, version, and the labels that the papers call +1."""

    name: str
    version: int
    positive: tuple[str, ...] = ()
    dropped_columns: int = 0
    n_train: int | None = None


@dataclass(frozen=True)
class Entry:
    """Known data set; ``sha256`` is that of ``<name>.npz``, None if there is no such file."""

    shape: tuple[int, int]
    sha256: str | None = None
    openml: OpenMLCopy | None = None


_COPIES = {
    "ads": OpenMLCopy("Internet-Advertisements", 2, ("noad", "nonad", "nonad."), dropped_columns=4),
    "balance": OpenMLCopy("balance-scale", 1, ("L",)),
    "heart": OpenMLCopy("heart-statlog", 1, ("present",)),
    "ionosphere": OpenMLCopy("ionosphere", 1, ("b",)),
    "mnist": OpenMLCopy("mnist_784", 1, n_train=60000),
    "pima": OpenMLCopy("diabetes", 1, ("tested_positive",)),
    "sonar": OpenMLCopy("sonar", 1, ("Rock",)),
    "vehicle": OpenMLCopy("vehicle", 1, ("van",)),
}
_FILES = {
    "ads": ((3279, 1554), None),
    "ads_dedup": ((1966, 1554), "b2e794c9db9a4310f5328f5dfb893421e9a7b845ae64a9a8f87c646c9e479e56"),
    "ads_sample818": (
        (818, 1554),
        "aa5406d65df0c4368c5f6f5ab6868eb65b319c9d98e3e7d3376287749684a991",
    ),
    "adult": ((48842, 105), "d5b6f53b35a8a8260313d559f1f95e0e474b851f1950b4692eac2c5e5ea23b33"),
    "australian": ((690, 14), "d89e2cf7cbfb303c3e23a5bf7717ddb13dfe9b284d1dd7b41c7994cf8bd42b4c"),
    "balance": ((625, 4), "04f21c6dfabfd5af155b824221805c88fdcc10187ef8688e3ec1f2588aacc543"),
    "bankmarketing": (
        (45211, 51),
        "ff73a5b621db32b2d6181dd44e774a4d35fda09b4ee485c528062337e890a60a",
    ),
    "bupa": ((345, 6), "bfa0b9bea72d3d9b8e817d809199196ef0ee9fe942011763f014a1b234feff93"),
    "california": ((20640, 8), "9be07e4f20c54ff2b92e53414d2d87f48b1bed7b01327e1b3e746c5643e2aaad"),
    "cifar10_hog": (
        (60000, 512),
        "314ccbf2aa63154140c5e83d167e1e2f81ce7c33266e4b2c26bb83797ff9fc94",
    ),
    "covertype_93k": (
        (92962, 54),
        "4f375234cb23ee2bf54593caa6a7133fc6bf0ac148c4ca5967c7718c65c3027f",
    ),
    "farm": ((4143, 54877), "f46687febe761a17a67aad8c823c0a5b35cc0fc518f40dd879791eee08cc6c80"),
    "german": ((1000, 23), "1ba9e4c0498796b8567c70d56a034e17c28116f13a6caf5a03632ca5c794c556"),
    "heart": ((270, 13), "ce041fcd5b147cf6a16381255e080ed72e91cbad4648c4c6a3c012e6a0985e44"),
    "ionosphere": ((351, 34), "137256f762049218ec130f7af74c020d565cd59c44abfb3e836f20e84b5c65f3"),
    "mnist": ((70000, 784), "c7b204b9bf8d4cbf1f60997c3d5e4e18647f07fe0114da744000099412c49239"),
    "mtr_enb": ((768, 8), "b7ab00832a7d40ccbe337ea1a34b3321b6dc4a081a7940b1c6f37f1a83c35d69"),
    "mtr_jura": ((359, 15), "af9eda766d30d4fc718d1067792ebe416318e085d05db2ba12ef6d1ee46f393c"),
    "mtr_wq": ((1060, 16), "d8b46d0441d969b0b3e2de926a4f2bed2b4e3eb9f31a13553fcce36c3d721c83"),
    "newthyroid": ((215, 5), "c287d1a0b648926a0ae0d475325838802ed7433dc526e52d5f68214b35e409e4"),
    "occupancy": ((20560, 5), "6565783a46fa8d0df20446b01cb7297e2afa81b4620390cbbdf07802bcb07a01"),
    "pima": ((768, 8), "649126150085acc0b7d056604f5978863a426b0ad399b83246b0565b50e56d44"),
    "sarcos_4449": ((4449, 21), "8f575fdc8d9768004741e1eb440f5df4ff8b5ac6dba7e8958f9a2cf8b7897280"),
    "sonar": ((208, 60), "7a54d4fddc4e28ae23b414acfe42e1bba417a9e50575cd70dd844204da23304c"),
    "spambase": ((4597, 57), "2cf8c19f5a2f0ed1076164d2a8ee6ca8737d2ec942315090f1c2ac10eeacf3d0"),
    "splice": ((3175, 60), "e599d3f508414ddb0027c6c1e78be736a99bec39bc5848cd8883feb25a73f70e"),
    "uci_kin40k": ((40000, 8), "60f775dcbc9a44163dfab154faf2ddac48bb9f803592cb4eda1d9d80adae4e52"),
    "vehicle": ((846, 18), "e039cd6e98c1e90645a03890c9b67e705e8737dae48eb4c24478360ec421b406"),
    "wdbc": ((569, 30), "31b08821c169a10f0b273546e18207ebc8953bee80c7bf96834f18b3d14f76dc"),
    "winds_coads": (
        (107557, 3),
        "6ac0b7f56cfd4ab4e2739d815ed8cdc5e143a09962ade88048bb182fede8739a",
    ),
    "wine": ((178, 13), "dba0e02b84f11b6466229d7d52795c46ac85a64fdcb0f67a552200b565dd05a8"),
}
CATALOG = {
    name: Entry(shape, sha256, _COPIES.get(name)) for name, (shape, sha256) in _FILES.items()
}
