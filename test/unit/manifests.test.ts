import { expect, test } from "vitest";
import { ETCD_REPOSITORY } from "#api/names.ts";
import { operatorManifests } from "../../scripts/manifests.ts";

const MIRRORS = ["registry.example/etcd", "localhost:5000/etcd"] as const;

/** Arguments of the operator, and the validations of images for Jobs with a service account. */
function installed(repositories?: typeof MIRRORS) {
  const text = JSON.stringify(operatorManifests("operator:1", "everywhere", repositories));
  const flags = [...text.matchAll(/--etcd-repository=([^"]+)/g)].map(([, repository]) => repository);
  const known = [...text.matchAll(/each\.image\.startsWith\('([^']+)'\)/g)].map(([, prefix]) => prefix);
  return { flags, known };
}

test("by default the operator and its Jobs take etcd's images from etcd's own repository", () => {
  expect(installed()).toEqual({ flags: [], known: [`${ETCD_REPOSITORY}:v`] });
});

test("with mirrors the operator takes etcd's images from the first, and Jobs may run images of all", () => {
  expect(installed(MIRRORS)).toEqual({ flags: [MIRRORS[0]], known: MIRRORS.map((each) => `${each}:v`) });
  const text = JSON.stringify(operatorManifests("operator:1", "everywhere", MIRRORS));
  expect(text).toContain("image is from registry.example/etcd or localhost:5000/etcd");
  expect(text).not.toContain(ETCD_REPOSITORY);
});
