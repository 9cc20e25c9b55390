import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { mergePodTemplate } from "#api/pod-template/merge.ts";
import { asOperatorError } from "#base/error.ts";
import { type ApiServer, startApiServer } from "#kit/servers/apiserver.ts";
import { peer } from "#kit/snapshots/peer.ts";
import { NAMESPACES } from "#kit/tables/kinds.ts";
import { CONFINED_OTHERWISE, type PodPart, UNCONFINED } from "#kit/tables/pod-power.ts";
import { PODS } from "#kube/kinds.ts";
import { podTemplate } from "#peer/desired/pod.ts";

// Kubernetes decides what leads out of a pod: Pod Security judges the same pods as whyNotTemplate.

const OPTIONS = { signal: new AbortController().signal };
const namespace = "baseline";

let server: ApiServer;

beforeAll(async () => {
  server = await startApiServer();
  const labels = { "pod-security.kubernetes.io/enforce": namespace };
  const draft = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels } };
  await server.client.create(NAMESPACES, draft, OPTIONS);
  // Pod Security notices the namespace after a moment.
  const probe = async () => expect(await refusalOf({ spec: { hostPID: true } })).toBeDefined();
  await vi.waitFor(probe, { timeout: 30_000, interval: 200 });
});
afterAll(async () => await server?.stop());

/** Refusal of a member's pod with this part; undefined when it is accepted. */
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
