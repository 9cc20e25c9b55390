import { dirname } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ensureComponents } from "#dev/components.ts";
import { createCluster } from "#dev/deploy.ts";
import { Kubectl } from "#dev/kubectl.ts";
import { silentStep } from "#dev/progress.ts";
import { run } from "#dev/run.ts";
import type { ApiServer } from "#kit/servers/apiserver.ts";
import { startWithKinds } from "#kit/servers/shipped.ts";
import type { Draft } from "#kube/kinds.ts";

// `npm start -- --kubeconfig FILE` with a Kubernetes in which something already runs.

const OPTIONS = { signal: new AbortController().signal };
const EXAMPLE = "examples/quickstart.yaml";

let server: ApiServer;
let program: string;
beforeAll(async () => {
  ({ kubectl: program } = await ensureComponents(["kubectl"], async (_text, work) => await work(() => {})));
  server = await startWithKinds([ETCD_CLUSTERS]);
});
afterAll(async () => await server?.stop());

async function found(namespace: string): Promise<EtcdCluster> {
  const object = await server.client.get(ETCD_CLUSTERS, { namespace, name: "my-etcd" }, OPTIONS);
  if (object === undefined) throw new Error("EtcdCluster my-etcd does not exist");
  return object as EtcdCluster;
}

test("npm start does not change a foreign EtcdCluster named my-etcd", async () => {
  const manifest = {
    apiVersion: "etcd.improbable.io/v1beta1",
    kind: "EtcdCluster",
    metadata: { namespace: "default", name: "my-etcd" },
    spec: { replicas: 5, version: "3.6.16" },
  };
  await server.client.create(ETCD_CLUSTERS, manifest as unknown as Draft<EtcdCluster>, OPTIONS);
  const before = await found("default");
  const made = await createCluster(new Kubectl(program, server.kubeconfig), EXAMPLE, silentStep);
  expect(made).toEqual({ name: "my-etcd", isOurs: false });
  expect(await found("default")).toEqual(before);
});

test("npm start creates a missing EtcdCluster, and a second run keeps changes that people made", async () => {
  const kubectl = new Kubectl(program, server.kubeconfig);
  await kubectl.run(["create", "namespace", "shop"]);
  // No operator makes it Ready here.
  const again = () => createCluster(kubectl, EXAMPLE, silentStep, ["-n", "shop"], 0);
  await expect(again()).rejects.toThrow(/not ready after 0 s/);
  expect((await found("shop")).spec.replicas).toBe(3);
  await kubectl.run(["-n", "shop", "scale", "etcdcluster", "my-etcd", "--replicas=5"]);
  await expect(again()).rejects.toThrow(/not ready after 0 s/);
  expect((await found("shop")).spec.replicas).toBe(5);
});

test("npm start without a terminal changes nothing, and names the context and the server", async () => {
  const args = ["dev/commands/start.ts", "--kubeconfig", server.kubeconfig, "--image", "operator:test"];
  const env = { ...process.env, PATH: `${dirname(program)}:${process.env.PATH}` };
  const { code, stderr } = await run(process.execPath, args, { mayFail: true, env });
  expect(stderr).toContain(`would install the operator in context "local", server ${server.url}. Nothing was changed`);
  expect(code).toBe(1);
  await expect(
    new Kubectl(program, server.kubeconfig).run(["get", "namespace", "etcd-operator-system"]),
  ).rejects.toThrow(/not found/);
});
