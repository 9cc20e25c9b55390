import { afterAll, beforeAll, expect, test } from "vitest";
import { GROUP, OPERATOR } from "#api/names.ts";
import type { ApiServer } from "#kit/servers/apiserver.ts";
import { startShipped } from "#kit/servers/shipped.ts";
import { install } from "#kit/servers/webhooks-apiserver.ts";
import type { KubeClient } from "#kube/client.ts";

// What people may do to the operator's kinds with the shipped ClusterRoles for view and edit. A real API server decides.
// test/e2e/install.test.ts shows that Kubernetes adds them to its own roles.

const OPTIONS = { signal: new AbortController().signal };
const RBAC = "rbac.authorization.k8s.io";
const [VIEWED, EDITED] = ["viewed", "edited"];

let server: ApiServer;
let admin: KubeClient;

beforeAll(async () => {
  ({ server, admin } = await startShipped({ namespace: VIEWED }));
  await install(admin, { apiVersion: "v1", kind: "Namespace", metadata: { name: EDITED } });
  // Kubernetes' role edit contains view.
  await bind(VIEWED, "view");
  await bind(EDITED, "view");
  await bind(EDITED, "edit");
}, 120_000);
afterAll(async () => await server?.stop());

async function bind(namespace: string, role: string): Promise<void> {
  await install(admin, {
    apiVersion: `${RBAC}/v1`,
    kind: "RoleBinding",
    metadata: { namespace, name: role },
    roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: `${OPERATOR}-${role}` },
    subjects: [{ apiGroup: RBAC, kind: "User", name: "visitor" }],
  });
}

/** Whether the user `visitor` may do this to a resource, with a subresource after a slash. */
async function may(namespace: string, verb: string, what: string): Promise<boolean> {
  const [resource, subresource] = what.split("/");
  const resourceAttributes = { namespace, verb, group: GROUP, resource, subresource };
  const body = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user: "visitor", resourceAttributes },
  };
  const answer = await admin.raw("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", { ...OPTIONS, body });
  return JSON.parse(answer).status.allowed;
}

const OF_PEOPLE = ["etcdclusters", "etcdbackups", "etcdbackupschedules", "etcdrestores", "etcdusers", "etcdroles"];
const READS = ["get", "list", "watch"];
const WRITES = ["create", "update", "patch", "delete", "deletecollection"];

test.each([
  { role: "view", namespace: VIEWED, writes: false },
  { role: "edit", namespace: EDITED, writes: true },
])("the role $role may read all kinds, and may write those that users write: $writes", async (given) => {
  const { namespace, writes } = given;
  for (const kind of [...OF_PEOPLE, "etcdpeers", "etcdclusters/scale"])
    for (const verb of READS) expect(await may(namespace, verb, kind), `${verb} ${kind}`).toBe(true);
  for (const kind of OF_PEOPLE)
    for (const verb of WRITES) expect(await may(namespace, verb, kind), `${verb} ${kind}`).toBe(writes);
  expect(await may(namespace, "update", "etcdclusters/scale")).toBe(writes);
});

test.each([VIEWED, EDITED])("in namespace %s no role writes EtcdPeers or a status", async (namespace) => {
  for (const kind of ["etcdpeers", "etcdpeers/status", ...OF_PEOPLE.map((each) => `${each}/status`)])
    for (const verb of WRITES) expect(await may(namespace, verb, kind), `${verb} ${kind}`).toBe(false);
});

test("the roles apply in the namespace of their binding only", async () => {
  expect(await may("default", "list", "etcdclusters")).toBe(false);
});
