"""What a page loads is what the modules make, wherever there is an esbuild."""

import shutil

import bundle
import pytest

needs_esbuild = pytest.mark.skipif(
    not (shutil.which("node") and bundle.ESBUILD.exists()),
    reason="there is no node, or no esbuild in tools/web",
)


@needs_esbuild
@pytest.mark.parametrize("name", bundle.NAMED)
def test_a_bundle_is_what_its_modules_make(name):
    path = bundle.BUNDLES / f"{name}.js"
    assert path.read_bytes() == bundle.bundled(name)


def test_a_bundle_is_kept_for_each_and_for_no_other():
    kept = {path.stem for path in bundle.BUNDLES.glob("*.js")}
    assert kept == {*bundle.NAMED}


@needs_esbuild
def test_what_is_stale_is_named_and_made_anew(tmp_path, monkeypatch):
    modules, bundles = tmp_path / "modules", tmp_path / "bundles"
    shutil.copytree(bundle.MODULES, modules)
    shutil.copytree(bundle.BUNDLES, bundles)
    monkeypatch.setattr(bundle, "MODULES", modules)
    monkeypatch.setattr(bundle, "BUNDLES", bundles)
    monkeypatch.setattr("sys.argv", ["bundle.py", "--check"])
    bundle.main()
    with (modules / "sample.js").open("a") as file:  # of the writer alone
        file.write("console.log('changed');\n")
    with pytest.raises(SystemExit, match="makes: programs: make bundle"):
        bundle.main()
    monkeypatch.setattr("sys.argv", ["bundle.py"])
    bundle.main()
    assert "changed" in (bundles / "programs.js").read_text()
