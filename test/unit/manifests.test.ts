import { describe, expect, test } from "vitest";
import { ETCD_REPOSITORY, GROUP } from "#api/names.ts";
import { chartFiles } from "../../scripts/chart/chart.ts";
import { DEFINITIONS_POLICY } from "../../scripts/definitions-policy.ts";
import { crdManifests, operatorManifests } from "../../scripts/manifests.ts";
import { peopleRoles } from "../../scripts/people-roles.ts";

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

test("Argo CD and Flux keep the definitions with their policy and its binding, and nothing else", () => {
  const keeps = ({ metadata }: { metadata: object }) => {
    const { annotations } = metadata as { annotations?: Readonly<Record<string, string>> };
    return (
      annotations?.["argocd.argoproj.io/sync-options"] === "Prune=false,Delete=false" &&
      annotations["kustomize.toolkit.fluxcd.io/prune"] === "disabled"
    );
  };
  const kept = [...crdManifests(), ...operatorManifests("operator:1")].filter(keeps);
  expect(kept.slice(-2).map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
    `ValidatingAdmissionPolicy ${DEFINITIONS_POLICY}`,
    `ValidatingAdmissionPolicyBinding ${DEFINITIONS_POLICY}`,
  ]);
  expect(kept.slice(0, -2)).toEqual(crdManifests());
});

test("the chart has the same annotations, with Helm's", () => {
  const files = chartFiles("1.2.3", "operator:1");
  const text = [...files.values()].join("");
  const all = [
    ...text.matchAll(/sync-options: Prune=false,Delete=false\n.*prune: disabled\n.*resource-policy: keep\n/g),
  ];
  expect(all).toHaveLength(crdManifests().length + 2);
});

describe("the chart's schema of values", () => {
  const { properties } = JSON.parse(chartFiles("1.2.3", "operator:1").get("values.schema.json") ?? "");

  test.each([
    [
      "image.tag",
      ["0.2.0", "_a.B-1", "a".repeat(128)],
      ["", ".a", "a'b", "a/b", "a@b", "a:b", "a\nb", "a".repeat(129)],
    ],
    ["test.storageClassName", ["", "fast", "a.b-c.example"], ["Fast", "-a", "a b", "a'", "a\nb", "a".repeat(254)]],
  ])("%s is a name that a text can contain", (path, right, wrong) => {
    const [parent = "", name = ""] = path.split(".");
    const { pattern } = properties[parent].properties[name];
    for (const each of right) expect(each).toMatch(new RegExp(pattern));
    for (const each of wrong) expect(each).not.toMatch(new RegExp(pattern));
  });

  test.each(["watchNamespaces", "secretsOf"])(
    "%s names a namespace once: it makes objects of the same name",
    (list) => {
      expect(properties[list].uniqueItems).toBe(true);
    },
  );
});

test("the ClusterRoles for people contain the operator's kinds only, so not pods/proxy", () => {
  const rules = peopleRoles().flatMap((role) => role.rules as { apiGroups: string[] }[]);
  expect(new Set(rules.flatMap(({ apiGroups }) => apiGroups))).toEqual(new Set([GROUP]));
});
