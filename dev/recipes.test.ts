import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { goBinaryName, RECIPES, type Recipe } from "./recipes.ts";

/** Modules that build only our own code. */
const OWN = ["pause"];
/** Import prefix of the module that a main package of our own is built around. */
const MAIN_IMPORTS: Readonly<Record<string, string>> = {
  coredns: "github.com/coredns/coredns/",
  "cert-manager": "github.com/cert-manager/cert-manager/",
  registry: "github.com/google/go-containerregistry",
  "typed-client": "k8s.io/apimachinery/",
};

for (const [name, recipe] of Object.entries(RECIPES) as [string, Recipe][]) {
  if (OWN.includes(recipe.module)) continue;
  test(`recipes: ${name} is built in the version of versions.ts`, () => {
    const goMod = readFileSync(join(import.meta.dirname, "go", recipe.module, "go.mod"), "utf8");
    const packages = Object.values(recipe.binaries).filter((goPackage) => goPackage !== ".");
    const modules = [...goMod.matchAll(/^(?:require |\t)(\S+) (v\S+?)(?: \/\/ indirect)?$/gm)];
    const asked = packages.length > 0 ? packages : [MAIN_IMPORTS[recipe.module]];
    for (const goPackage of asked) {
      const module = modules.find(([, path]) => goPackage === path || goPackage?.startsWith(`${path}/`));
      expect(module?.[2]).toBe(`v${recipe.version}`);
    }
  });
}

test("recipes: go names a binary by the last path element that is not a major version", () => {
  expect(goBinaryName("go.etcd.io/etcd/server/v3", "etcd")).toBe("server");
  expect(goBinaryName("k8s.io/kubernetes/cmd/kubelet", "kubernetes")).toBe("kubelet");
  expect(goBinaryName(".", "coredns")).toBe("coredns");
});
