"""What model.json says: Model().predict(X), python predict.py data.csv, or predict.py --check."""
import csv, functools, hashlib, json, pathlib, sys
import numpy as np
import xgboost as xgb
def xgboost(file, booster):
    if [*map(int, xgb.__version__.split(".")[:2])] < booster["since"]: raise ImportError(booster)
    read, missing = xgb.Booster(model_file=file).inplace_predict, float(booster["missing"])
    return functools.partial(read, missing=missing, predict_type="margin", validate_features=False)
def shift(z, step, X): return z + np.array(step["log_odds"])
def sigmoid(z, *_): return 1 / (1 + np.exp(np.where(z < -709, np.inf, -z)))
def run(v, steps, X):
    return functools.reduce(lambda v, step: globals()[step["formula"]](v, step, X), steps, v)
class Model:
    def __init__(self, folder=pathlib.Path(__file__).parent):
        self.folder, self.spec = folder, json.loads(pathlib.Path(folder, "model.json").read_bytes())
        self.boosters = [(globals()[b["library"]](str(pathlib.Path(folder, b["file"])), b), b)
                         for b in self.spec["boosters"]]
    def predict_score(self, X):  # of a table, by the names of its columns, or of an array
        features = self.spec["features"]
        if {"keys", "columns"} & {*dir(X)}: X = np.array([X[f["name"]] for f in features], float).T
        Z = X if hasattr(X, "dtype") and X.dtype.kind in "biuf" else np.asarray(X, float)
        if Z.shape[1:] != (len(features),): raise ValueError(f"X has other columns, {Z.shape}")
        each = ((margin(Z).astype(float), b["steps"], b["weight"]) for margin, b in self.boosters)
        return run(sum(w * run(f, steps, X) for f, steps, w in each), self.spec["score"], X)
    def predict_proba(self, X):
        p = run(self.predict_score(X), self.spec["probability"], X)
        return np.column_stack([1 - p, p])
    def predict(self, X):
        c = self.spec["classes"]
        return np.array(c["labels"], c["dtype"])[self.predict_proba(X).argmax(axis=1)]
def same(a, b): return np.allclose(a, b, 1e-06, 1e-06) if b.dtype.kind == "f" else (a == b).all()

if __name__ == "__main__":
    model = Model()
    if sys.argv[1:] == ["--check"]:
        wrong = [name for name, digest in model.spec["files"].items()
                 if hashlib.sha256((model.folder / name).read_bytes()).hexdigest() != digest]
        held = np.load(model.folder / "check.npz") if "check.npz" in model.spec["files"] else {}
        wrong += [f for f in set(held) - {"X"} if not same(getattr(model, f)(held["X"]), held[f])]
        sys.exit(f"not as exported: {wrong}" if wrong else 0)
    header, *rows = csv.reader(open(sys.argv[1], newline="", encoding="utf-8-sig"))
    out, X = csv.writer(sys.stdout), np.array([[c or "nan" for c in row] for row in rows])
    if header[0] > "0" and header[0].replace(".", "").isdigit(): sys.exit("line 1 has no names")
    out.writerow(["prediction", *model.spec["classes"]["labels"]])
    out.writerows(zip(model.predict(X), *model.predict_proba(X).T))
