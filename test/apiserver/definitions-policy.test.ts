import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ALLOW_DELETION_ANNOTATION, GROUP } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_USERS } from "#api/v1beta1/user.ts";
import type { ApiServer } from "#kit/servers/apiserver.ts";
import { startShipped } from "#kit/servers/shipped.ts";
import { install } from "#kit/servers/webhooks-apiserver.ts";
import type { KubeClient } from "#kube/client.ts";
import { CUSTOM_RESOURCE_DEFINITIONS, type Draft, resourceName } from "#kube/kinds.ts";
import { NOT_DELETED } from "../../scripts/definitions-policy.ts";

// Definitions of the operator are deleted only with consent. A real API server with the shipped manifests decides.

const OPTIONS = { signal: new AbortController().signal };
const namespace = "foo";
const CLUSTERS = resourceName(ETCD_CLUSTERS);
const USERS = resourceName(ETCD_USERS);

/** A definition of a kind that nothing else uses. */
function definition(plural: string, group: string) {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { kind: plural.slice(0, -1), plural },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
    },
  };
}

let server: ApiServer;
let admin: KubeClient;

beforeAll(async () => {
  ({ server, admin } = await startShipped({
    namespace,
    kinds: [ETCD_CLUSTERS],
    foreign: [definition("widgets", "example.com")],
  }));
  // A policy applies a moment after its creation.
  await vi.waitFor(
    async () => {
      await install(admin, definition("probes", GROUP)).catch(() => "it is there already");
      await expect(dropped(`probes.${GROUP}`)).rejects.toThrow(NOT_DELETED);
    },
    { timeout: 30_000 },
  );
}, 120_000);
afterAll(async () => await server?.stop());

async function dropped(name: string): Promise<void> {
  const { uid } = (await admin.get(CUSTOM_RESOURCE_DEFINITIONS, { name }, OPTIONS)).metadata;
  await admin.delete(CUSTOM_RESOURCE_DEFINITIONS, { name }, { ...OPTIONS, preconditions: { uid } });
}

test("an administrator cannot delete a definition, so clusters stay", async () => {
  const draft = {
    apiVersion: `${GROUP}/v1beta1`,
    kind: "EtcdCluster",
    metadata: { namespace, name: "my-etcd" },
    spec: { replicas: 1, version: "3.6.16" },
  };
  await admin.create(ETCD_CLUSTERS, draft as Draft<EtcdCluster>, OPTIONS);
  await expect(dropped(CLUSTERS)).rejects.toThrow(NOT_DELETED);
  const { metadata } = await admin.get(ETCD_CLUSTERS, { namespace, name: "my-etcd" }, OPTIONS);
  expect(metadata.deletionTimestamp).toBeUndefined();
});

test.each(["false", "yes", ""])("the annotation with the value %j is no consent", async (value) => {
  await annotate(value);
  await expect(dropped(USERS)).rejects.toThrow(NOT_DELETED);
});

test("with the annotation the definition is deleted", async () => {
  await annotate("true");
  await dropped(USERS);
});

test("definitions of other projects are deleted as before", async () => {
  await dropped("widgets.example.com");
});

async function annotate(value: string): Promise<void> {
  const metadata = { annotations: { [ALLOW_DELETION_ANNOTATION]: value } };
  await admin.patch(CUSTOM_RESOURCE_DEFINITIONS, { name: USERS }, { metadata }, { ...OPTIONS, type: "merge" });
}
