"""What model.json says: Model().predict(X), python predict.py data.csv, or predict.py --check."""
import csv, functools, hashlib, json, os, pathlib, re, sys
import numpy as np, xgboost as xgb
def xgboost(file, booster):
    if [*map(int, xgb.__version__.split(".")[:2])] < booster["since"]:
        raise ImportError(f"update xgboost to one since {booster['since']}, which wrote {file}")
    read, missing = xgb.Booster(model_file=file).inplace_predict, float(booster["missing"])
    return functools.partial(read, missing=missing, predict_type="margin", validate_features=False)
@np.errstate(divide='ignore', invalid='ignore', over='ignore')
def apply(v, formula, **numbers): return np.asarray(globals()[formula](v, **numbers))
def sigmoid(z): return 1 / (1 + np.exp(-z))
def run(v, steps, X): return functools.reduce(lambda v, step: apply(v, **step), steps, v)
def both(p): return np.column_stack([1 - p, p])
class Model:
    def __init__(self, folder=pathlib.Path(__file__).parent):
        self.folder, self.spec = folder, json.loads(pathlib.Path(folder, "model.json").read_bytes())
        self.boosters = [(globals()[b["library"]](str(pathlib.Path(folder, b["file"])), b), b)
                         for b in self.spec["boosters"]]
    def predict_score(self, X):  # of a table, by the names of its columns, or of an array
        if type(X) is list and {dict} == {*map(type, X)}: X = {k: [r[k] for r in X] for k in X[0]}
        features = self.spec["features"]
        if {"keys", "columns"} & {*dir(X)}: X = np.array([X[f["name"]] for f in features], float).T
        Z = X if hasattr(X, "dtype") and X.dtype.kind in "biuf" else np.asarray(X, float)
        if Z.shape[1:] != (len(features),): raise ValueError(f"X has other columns, {Z.shape}")
        each = ((margin(Z).astype(float), b["steps"], b["weight"]) for margin, b in self.boosters)
        return run(sum(w * run(f, steps, X) for f, steps, w in each), self.spec["score"], X)
    def predict_proba(self, X): return both(run(self.predict_score(X), self.spec["probability"], X))
    def predict(self, X):
        c = self.spec["classes"]
        return np.array(c["labels"], c["dtype"])[self.predict_proba(X).argmax(axis=1)]
def same(a, b): return np.allclose(a, b, 1e-06, 1e-06) if b.dtype.kind == "f" else (a == b).all()
def number(c):  # as pandas writes it; Python would also read 1_0, and the digits of any script
    if "_" in c or not c.isascii(): raise ValueError(f"could not convert string to float: {c!r}")
    return float({"True": 1, "False": 0, "": "nan"}.get(c, c))
CSV = "CSV in UTF-8, with decimal points, and empty cells where values are missing"
if __name__ == "__main__":
    if len(sys.argv) != 2: sys.exit(f"give one CSV file, found {sys.argv[1:]}: {__doc__}")
    try: path, model, write = sys.argv[1], Model(), csv.writer(sys.stdout).writerows
    except Exception as error: sys.exit(f"copy the whole folder again: {error}".splitlines()[0])
    names = ["prediction", *model.spec["classes"]["labels"]]
    if path in ("-h", "--help"): sys.exit(print(f"""{__doc__}\n\nIt reads {CSV}.
The first line names {len(model.spec["features"])} columns, in the order that the model knows.
It writes, as CSV too, prediction, and the probability of each class, {names[1:]}."""))
    if path.endswith(".parquet"): sys.exit("call Model().predict(pd.read_parquet(path).to_numpy())")
    if path == "--check":
        wrong = [n for n, d in model.spec["files"].items() if not (f := model.folder / n).is_file()
                 or hashlib.sha256(f.read_bytes()).hexdigest() != d]
        right = {*model.spec["files"]} - {*wrong}
        held = np.load(model.folder / "check.npz") if "check.npz" in right else {}
        wrong += [f for f in set(held) - {"X"} if not same(getattr(model, f)(held["X"]), held[f])]
        sys.exit(f"not as exported: {wrong}" if wrong else 0)
    text, k = {f["name"]: f.get("text") for f in model.spec["features"]}, "1"
    try:
        header = next(it := csv.reader(open(path, newline="", encoding="utf-8-sig"), strict=1), [])
        data = r"[-+.\d]+(e[-+]?\d+)?|[-+]?inf|nan|na|true|false|"
        data = all(re.fullmatch(data, c, re.I) for c in header)
        if len(header) != len(text) or data and header != [*map(str, text)]:
            sys.exit(f"{path}, line 1 must name {len(text)} columns, found {header[:3]}")
        header = [*text]
        X = {k: [] for k in header}
        if wrong := sorted(name for name in text if header.count(name) != 1):
            sys.exit(f"{path}, line 1 must name each of {wrong} once, found {header[:9]}")
        for row in it:
            k = header[min(len(row), len(header) - 1)]
            if len(row) != len(header): raise ValueError(f"{len(row)} values, not {len(header)}")
            for k, c in zip(header, row): X[k] += [c if text.get(k, 1) else number(c)]
        if not X[header[0]]: sys.exit(f"{path} has no rows below its header")
    except OSError as error: sys.exit(f"{error}: {__doc__}")
    except (ValueError, csv.Error) as error:
        sys.exit(f"{path}, line {it.line_num}, column {k}: {error}; write {CSV}")
    try: write([names, *zip(model.predict(X), *model.predict_proba(X).T)]); sys.stdout.flush()
    except BrokenPipeError: os._exit(1)  # of `| head`
    except ValueError as error: sys.exit(f"{path}: {error}".splitlines()[0])
