import { request } from "node:https";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { ApiServer } from "#kit/servers/apiserver.ts";
import { startShipped } from "#kit/servers/shipped.ts";
import { kindOf } from "#kit/servers/webhooks-apiserver.ts";
import { kubeconfigFile } from "#kube/config.ts";
import type { KubeObject, Resource } from "#kube/kinds.ts";
import { leaseFlow } from "../../scripts/lease-flow.ts";

// The queue in which a request of the operator waits: a real API server names the FlowSchema in each answer.

const OPTIONS = { signal: new AbortController().signal };
const FLOW_SCHEMAS = kindOf(leaseFlow()) as Resource<KubeObject>;

let server: ApiServer;

beforeAll(async () => {
  ({ server } = await startShipped({ namespace: "foo" }));
});
afterAll(async () => await server?.stop());

/** @param method and path of a request @returns the FlowSchema that the API server used for it */
async function lineOf(method: string, path: string): Promise<string | undefined> {
  const { credentials } = await kubeconfigFile(server.kubeconfigFor("operator"));
  const { token, tls } = await credentials(false);
  const to = { method, headers: { authorization: `Bearer ${token}` }, ca: tls.ca, agent: false } as const;
  const uid = await new Promise((resolve, reject) => {
    const asked = request(`${server.url}${path}`, to, (answer) => {
      answer.resume();
      resolve(answer.headers["x-kubernetes-pf-flowschema-uid"]);
    });
    asked.once("error", reject).end();
  });
  const { items } = await server.client.list(FLOW_SCHEMAS, {}, OPTIONS);
  return items.find(({ metadata }) => metadata.uid === uid)?.metadata.name;
}

const LEASES = "/apis/coordination.k8s.io/v1/namespaces";
const LEASE = "leases/etcd-cluster-operator";

test.each([
  ["GET", `${LEASES}/etcd-operator-system/${LEASE}`],
  ["PUT", `${LEASES}/etcd-operator-system/${LEASE}`],
  ["PATCH", `${LEASES}/kube-system/${LEASE}`],
  ["POST", `${LEASES}/kube-system/leases`],
  ["GET", `${LEASES}/etcd-operator-system/${LEASE}-shard-0`],
])("requests for the operator's leases have a priority level of their own: %s %s", async (method, path) => {
  await vi.waitFor(async () => expect(await lineOf(method, path)).toBe("etcd-cluster-operator-leases"), 10_000);
});

test.each([
  ["GET", "/api/v1/pods?limit=1"],
  ["GET", "/apis/etcd.improbable.io/v1beta1/etcdclusters?limit=1"],
  ["GET", `${LEASES}/default/${LEASE}`],
])("all other requests have the priority level of service accounts: %s %s", async (method, path) => {
  expect(await lineOf(method, path)).toBe("service-accounts");
});
