import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { OPERATOR } from "#api/names.ts";
import { WHOLE_LEVEL_SINCE } from "#dev/levels.ts";
import { everyRequest } from "#kit/audit-log.ts";
import { instance, kubectl } from "#kit/e2e.ts";
import {
  LEASE_PERMISSIONS,
  PERMISSIONS,
  type Permission,
  TLS_PERMISSIONS,
  WEBHOOK_PERMISSIONS,
} from "../../src/bin/permissions.ts";

// What the operator may do is what it does, by the word of the API server, which wrote every request of this level down. The file
// runs after all others (vitest.config.ts); alone it cannot tell what nobody uses.

/** In every namespace. */
const EVERYWHERE = [...PERMISSIONS, ...TLS_PERMISSIONS];

/** With this word the API server begins a policy's refusal. */
const POLICY = "ValidatingAdmissionPolicy";

/** Rights that this level need not use. */
const RARE: readonly { rights: readonly string[]; why: string; test: string }[] = [
  {
    rights: ["delete pods"],
    why: "members are restarted only when somebody asks for something else than they run",
    test: "test/long/upgrade.test.ts",
  },
  {
    rights: ["get", "create", "update", "delete"].map((verb) => `${verb} podmonitors.monitoring.coreos.com`),
    why: "the kind is not Kubernetes' own, and not served here",
    test: "test/apiserver/pod-monitor.test.ts",
  },
  {
    rights: ["get", "create", "update"].map((verb) => `${verb} certificates.cert-manager.io`),
    why: "the kind is not Kubernetes' own, and not served here",
    test: "test/apiserver/admission-policy.test.ts",
  },
  {
    rights: ["update configmaps"],
    why: "whom to trust changes only when an authority is followed by another one",
    test: "test/apiserver/admission-policy.test.ts",
  },
  {
    rights: ["delete poddisruptionbudgets.policy"],
    why: "a budget goes only when somebody sets spec.disruptionBudget to None",
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
    why: "API servers that do not stream the state at the start of a watch are asked for lists",
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
    why: "asked for by the admission plugin OwnerReferencesPermissionEnforcement, which some distributions have on",
    test: "test/apiserver/admission-policy.test.ts",
  },
  {
    rights: ["update validatingwebhookconfigurations.admissionregistration.k8s.io"],
    why: "whom to trust is told to the API server once per installation, and when the authority changes",
    test: "test/apiserver/webhooks.test.ts",
  },
  {
    rights: ["update customresourcedefinitions.apiextensions.k8s.io"],
    why: "the same for conversions",
    test: "test/apiserver/conversion.test.ts",
  },
  {
    rights: ["update customresourcedefinitions/status.apiextensions.k8s.io"],
    why: "objects are stored anew once, after an upgrade from a release that stored another version",
    test: "test/apiserver/storage-migration.test.ts",
  },
  {
    rights: ["get etcdbackups.etcd.improbable.io"],
    why: "the operator looks twice before it makes a Job of a backup that is not new; and objects are stored anew after an upgrade",
    test: "src/backup/act.test.ts",
  },
  {
    rights: ["get etcdclusters.etcd.improbable.io"],
    why: "the operator looks twice before it makes an EtcdPeer again that may bootstrap",
    test: "src/cluster/act.test.ts",
  },
];

/** As `kubectl auth can-i` takes it: verb, resource and group. */
function right(verb: string, resource: string, group: string): string {
  return `${verb} ${resource}${group === "" ? "" : `.${group}`}`;
}

function rightsIn(permissions: readonly Permission[]): readonly string[] {
  return permissions.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => right(verb, resource, group)))),
  );
}

/** Each right that was used, with an example. What is no resource is open to every account. */
async function uses(sinceMs: number): Promise<ReadonlyMap<string, string>> {
  const requests = (await everyRequest(instance.logs, sinceMs)).filter(({ resource }) => resource !== "");
  return new Map(
    requests.map(({ verb, resource, group, namespace, name, code }) => [
      right(verb, resource, group),
      `${namespace}/${name} (HTTP ${code})`,
    ]),
  );
}

test("every right that the operator asked for is granted", async () => {
  const granted = new Set(rightsIn([...EVERYWHERE, ...LEASE_PERMISSIONS, ...WEBHOOK_PERMISSIONS]));
  const used = await uses(0);
  expect(used.size).toBeGreaterThan(0);
  expect([...used].filter(([each]) => !granted.has(each))).toEqual([]);
});

const since = process.env[WHOLE_LEVEL_SINCE];

test.runIf(since)("every right that is granted was used, or is one of the rare ones", async () => {
  const used = await uses(Number(since));
  const rare = new Set(RARE.flatMap(({ rights }) => rights));
  for (const each of rightsIn(EVERYWHERE))
    console.log(`${each}: ${used.get(each) ?? (rare.has(each) ? "rare" : "NOT USED")}`);
  expect(rightsIn(EVERYWHERE).filter((each) => !used.has(each) && !rare.has(each))).toEqual([]);
});

test("the admission policy is sound, and never refused the operator anything", async () => {
  const { status } = await kubectl.json<{ status: { typeChecking?: object } }>([
    "get",
    "validatingadmissionpolicy",
    OPERATOR,
  ]);
  expect(status.typeChecking).toEqual({}); // expressions that do not fit a kind would stand here
  const refused = (await everyRequest(instance.logs, 0)).filter(({ message }) => message.includes(POLICY));
  expect(refused).toEqual([]);
});

test("the rare rights are granted, and each has its test", () => {
  const granted = new Set(rightsIn(EVERYWHERE));
  expect(RARE.flatMap(({ rights }) => rights).filter((each) => !granted.has(each))).toEqual([]);
  expect(RARE.filter(({ test: file }) => !existsSync(file))).toEqual([]);
});
