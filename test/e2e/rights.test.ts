import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { OPERATOR } from "#api/names.ts";
import { RIGHTS_SINCE } from "#dev/levels.ts";
import { everyRequest } from "#kit/e2e/audit-log.ts";
import { instance, kubectl } from "#kit/e2e/e2e.ts";
import {
  LEASE_PERMISSIONS,
  PERMISSIONS,
  type Permission,
  TLS_PERMISSIONS,
  WEBHOOK_PERMISSIONS,
} from "../../src/bin/permissions.ts";

// The operator's rights are exactly those that it uses, according to the API server's audit log of this level. The file
// runs after all others (vitest.config.ts); alone it cannot detect unused rights.

/** Rights in every namespace. */
const EVERYWHERE = [...PERMISSIONS, ...TLS_PERMISSIONS];

/** The API server's refusals by a policy contain this word. */
const POLICY = "ValidatingAdmissionPolicy";

/** Rights that this level need not use. */
const RARE: readonly { rights: readonly string[]; why: string; test: string }[] = [
  {
    rights: ["delete pods"],
    why: "members are restarted only when their template or version changes",
    test: "test/long/upgrade.test.ts",
  },
  {
    rights: ["create etcdrestores.etcd.improbable.io"],
    why: "the operator creates one for a cluster with spec.bootstrap; those tests run with the first share (dev/share.ts)",
    test: "test/e2e/restore.test.ts",
  },
  {
    rights: ["get", "create", "update", "delete"].map((verb) => `${verb} podmonitors.monitoring.coreos.com`),
    why: "the kind is not built into Kubernetes, and not served here",
    test: "test/apiserver/pod-monitor.test.ts",
  },
  {
    rights: ["get", "create", "update"].map((verb) => `${verb} certificates.cert-manager.io`),
    why: "the kind is not built into Kubernetes, and not served here",
    test: "test/apiserver/admission-policy.test.ts",
  },
  {
    rights: ["update configmaps"],
    why: "the CA bundle changes only when a CA is replaced",
    test: "test/apiserver/admission-policy.test.ts",
  },
  {
    rights: ["delete poddisruptionbudgets.policy"],
    why: "a budget is deleted only when spec.disruptionBudget.policy is set to None",
    test: "test/apiserver/admission-policy.test.ts",
  },
  {
    rights: [
      "list etcdclusters.etcd.improbable.io",
      "list etcdpeers.etcd.improbable.io",
      "list etcdbackups.etcd.improbable.io",
      "list etcdrestores.etcd.improbable.io",
      "list etcdbackupschedules.etcd.improbable.io",
      "list etcdroles.etcd.improbable.io",
      "list etcdusers.etcd.improbable.io",
      "list jobs.batch",
      "list pods",
      "list networkpolicies.networking.k8s.io",
      "list poddisruptionbudgets.policy",
      "list replicasets.apps",
      "list services",
    ],
    why: "lists are only read from API servers that do not stream the initial state of a watch",
    test: "test/apiserver/cache.test.ts",
  },
  {
    rights: [
      "update etcdclusters/finalizers.etcd.improbable.io",
      "update etcdpeers/finalizers.etcd.improbable.io",
      "update etcdbackups/finalizers.etcd.improbable.io",
      "update etcdrestores/finalizers.etcd.improbable.io",
      "update etcdusers/finalizers.etcd.improbable.io",
    ],
    why: "required by the admission plugin OwnerReferencesPermissionEnforcement, which some distributions enable",
    test: "test/apiserver/admission-policy.test.ts",
  },
  {
    rights: ["update validatingwebhookconfigurations.admissionregistration.k8s.io"],
    why: "the API server's CA bundle is written once per installation, and when the CA changes",
    test: "test/apiserver/webhooks.test.ts",
  },
  {
    rights: ["update customresourcedefinitions.apiextensions.k8s.io"],
    why: "the CA bundle for conversion is written equally rarely",
    test: "test/apiserver/conversion.test.ts",
  },
  {
    rights: ["update customresourcedefinitions/status.apiextensions.k8s.io"],
    why: "objects are rewritten once, after an upgrade from a release that stored another version",
    test: "test/apiserver/storage-migration.test.ts",
  },
  {
    rights: ["get etcdbackups.etcd.improbable.io"],
    why: "the operator reads a backup that is not new again before it creates a Job; and objects are rewritten after an upgrade",
    test: "src/backup/act.test.ts",
  },
  {
    rights: ["get etcdclusters.etcd.improbable.io"],
    why: "the operator reads the cluster again before it recreates an EtcdPeer that may bootstrap",
    test: "src/cluster/act.test.ts",
  },
];

/** A right in the form of `kubectl auth can-i`: verb, resource and group. */
function right(verb: string, resource: string, group: string): string {
  return `${verb} ${resource}${group === "" ? "" : `.${group}`}`;
}

function rightsIn(permissions: readonly Permission[]): readonly string[] {
  return permissions.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => right(verb, resource, group)))),
  );
}

/** Each right that was used, with an example. Requests without a resource are open to every account. */
async function uses(sinceMs: number): Promise<ReadonlyMap<string, string>> {
  const requests = (await everyRequest(instance.logs, sinceMs)).filter(({ resource }) => resource !== "");
  return new Map(
    requests.map(({ verb, resource, group, namespace, name, code }) => [
      right(verb, resource, group),
      `${namespace}/${name} (HTTP ${code})`,
    ]),
  );
}

test("every right that the operator uses in these tests is granted by its roles", async () => {
  const granted = new Set(rightsIn([...EVERYWHERE, ...LEASE_PERMISSIONS, ...WEBHOOK_PERMISSIONS]));
  const used = await uses(0);
  expect(used.size).toBeGreaterThan(0);
  expect([...used].filter(([each]) => !granted.has(each))).toEqual([]);
});

const since = process.env[RIGHTS_SINCE];

test.runIf(since)("every granted right is used in these tests or is listed as rare", async () => {
  const used = await uses(Number(since));
  const rare = new Set(RARE.flatMap(({ rights }) => rights));
  for (const each of rightsIn(EVERYWHERE))
    console.log(`${each}: ${used.get(each) ?? (rare.has(each) ? "rare" : "NOT USED")}`);
  expect(rightsIn(EVERYWHERE).filter((each) => !used.has(each) && !rare.has(each))).toEqual([]);
});

test("the admission policy is valid and refused no request of the operator in these tests", async () => {
  const { status } = await kubectl.json<{ status: { typeChecking?: object } }>([
    "get",
    "validatingadmissionpolicy",
    OPERATOR,
  ]);
  expect(status.typeChecking).toEqual({}); // expressions that do not fit a kind would be listed here
  const refused = (await everyRequest(instance.logs, 0)).filter(({ message }) => message.includes(POLICY));
  expect(refused).toEqual([]);
});

test("every right in the list of rare rights is granted, and its test exists", () => {
  const granted = new Set(rightsIn(EVERYWHERE));
  expect(RARE.flatMap(({ rights }) => rights).filter((each) => !granted.has(each))).toEqual([]);
  expect(RARE.filter(({ test: file }) => !existsSync(file))).toEqual([]);
});
