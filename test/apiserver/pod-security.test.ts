import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { mergePodTemplate } from "#api/pod-template/merge.ts";
import { asOperatorError } from "#base/error.ts";
import { type ApiServer, startApiServer } from "#kit/apiserver.ts";
import { NAMESPACES } from "#kit/kinds.ts";
import { peer } from "#kit/peer.ts";
import { CONFINED_OTHERWISE, type PodPart, UNCONFINED } from "#kit/pod-power.ts";
import { PODS } from "#kube/kinds.ts";
import { podTemplate } from "#peer/desired/pod.ts";

// What leads out of a pod is for Kubernetes to say: its own judge is asked about the same as whyNotTemplate.

const OPTIONS = { signal: new AbortController().signal };
const namespace = "baseline";

let server: ApiServer;

beforeAll(async () => {
  server = await startApiServer();
  const labels = { "pod-security.kubernetes.io/enforce": namespace };
  const draft = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels } };
  await server.client.create(NAMESPACES, draft, OPTIONS);
  // The judge learns of the namespace after a moment.
  const probe = async () => expect(await refusalOf({ spec: { hostPID: true } })).toBeDefined();
  await vi.waitFor(probe, { timeout: 30_000, interval: 200 });
});
afterAll(async () => await server?.stop());

/** Why the pod of a member with this would not be taken; undefined when it would. */
async function refusalOf({ spec, metadata = {} }: Omit<PodPart, "what">): Promise<string | undefined> {
  const template = mergePodTemplate(podTemplate(peer()), { spec, metadata });
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    ...template,
    metadata: { ...template.metadata, namespace, name: "member" },
  };
  const done = server.client.create(PODS, pod as never, { ...OPTIONS, dryRun: true });
  return await done.then(
    () => undefined,
    (thrown) => asOperatorError(thrown).message,
  );
}

describe('Pod Security "baseline" does not let members', () => {
  for (const { what, ...part } of UNCONFINED)
    test(what, async () => expect(await refusalOf(part)).toContain('violates PodSecurity "baseline:latest"'));
});

describe('Pod Security "baseline" lets members', () => {
  for (const { what, ...part } of CONFINED_OTHERWISE)
    test(what, async () => expect(await refusalOf(part)).toBeUndefined());
});
