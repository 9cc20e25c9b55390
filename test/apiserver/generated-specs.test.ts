import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { peerName } from "#api/names.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer } from "#api/v1beta1/peer.ts";
import { systemClock } from "#base/clock.ts";
import { asOperatorError } from "#base/error.ts";
import { silentLog } from "#base/log.ts";
import { newIdentity } from "#cluster/identity/desired/identity.ts";
import { newPeer } from "#cluster/members/desired/peer.ts";
import { ensureComponents } from "#dev/components.ts";
import { silentStep } from "#dev/progress.ts";
import { listedMinor } from "#etcd/flags/span.ts";
import { ETCD_VERSIONS } from "#kit/etcd/etcd.ts";
import type { ApiServer } from "#kit/servers/apiserver.ts";
import { startWithKinds } from "#kit/servers/shipped.ts";
import { type GeneratedSpec, generatedSpecs } from "#kit/tables/generated-specs.ts";
import type { KubeClient } from "#kube/client.ts";
import { apiVersionOf, type Draft, REPLICA_SETS, type ReplicaSet } from "#kube/kinds.ts";
import { replicaSet } from "#peer/desired/replica-set.ts";
import { unseenPeer } from "#peer/snapshot.ts";
import { newCluster } from "#webhooks/checks/new-cluster.ts";
import { clusterAdmission } from "#webhooks/cluster-admission.ts";
import { EtcdBinary } from "../../scripts/etcd-flags/binary.ts";

// A valid generated spec becomes members: the API server accepts their objects, and the etcd release their flags.
// An invalid spec is refused before anything is created, with a message that names the error.

/** Number of specs. Each takes four requests to the API server and a start of etcd. More are tried by hand. */
const RUNS = Number(process.env.GENERATED_SPECS ?? 150);
const SEED = process.env.GENERATED_SPECS_SEED;
const OPTIONS = { signal: new AbortController().signal };
const DRY_RUN = { ...OPTIONS, dryRun: true };
const REPOSITORY = "registry.example/etcd";
const namespace = "default";

const folder = mkdtempSync(join(tmpdir(), "generated-specs-"));
let server: ApiServer;
let kube: KubeClient;
let binaries: ReadonlyMap<string, EtcdBinary>;

beforeAll(async () => {
  const paths = await ensureComponents(
    ETCD_VERSIONS.map((version) => `etcd-${version}` as const),
    silentStep,
  );
  binaries = new Map(
    ETCD_VERSIONS.map((version) => [listedMinor(version) ?? "", new EtcdBinary(paths[`etcd-${version}`], folder)]),
  );
  server = await startWithKinds([ETCD_CLUSTERS, ETCD_PEERS]);
  kube = server.client;
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The EtcdCluster as the API server would store it, or the refusal as a person reads it. */
async function stored({ name, spec }: GeneratedSpec): Promise<EtcdCluster | string> {
  const draft = { apiVersion: apiVersionOf(ETCD_CLUSTERS), kind: "EtcdCluster", metadata: { name, namespace }, spec };
  try {
    return await kube.create(ETCD_CLUSTERS, draft as unknown as Draft<EtcdCluster>, DRY_RUN);
  } catch (thrown) {
    const error = asOperatorError(thrown);
    expect(error.code, error.message).toBe("KubeInvalid");
    return error.message;
  }
}

interface Review {
  readonly response: { readonly allowed: boolean; readonly status?: { readonly message: string } };
}

/** The webhook's refusal. */
async function refusal(cluster: EtcdCluster): Promise<string | undefined> {
  const webhook = clusterAdmission({ kube, imageRepository: REPOSITORY, clock: systemClock, log: silentLog });
  const kind = { group: "etcd.improbable.io", version: "v1beta1", kind: "EtcdCluster" };
  const request = { uid: "1", kind, operation: "CREATE", object: cluster, oldObject: null };
  const body = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request };
  const { response } = (await webhook.answer(body, OPTIONS.signal)) as Review;
  return response.allowed ? undefined : (response.status?.message ?? "");
}

/** The ReplicaSet of the last of the first members, from its EtcdPeer as the API server would store it. */
async function lastMember(cluster: EtcdCluster): Promise<Draft<ReplicaSet>> {
  const snapshot = newCluster(cluster, []);
  const name = peerName(cluster.metadata.name, cluster.spec.replicas - 1);
  const peer: EtcdPeer = await kube.create(ETCD_PEERS, newPeer(snapshot, newIdentity(snapshot), name), DRY_RUN);
  return replicaSet(
    unseenPeer({
      takenAtMs: 0,
      peer,
      imageRepository: REPOSITORY,
    }),
  );
}

/** All flags and variables of the pod's etcd as flags. The parser reads both alike and ignores unknown variables. */
function flagsOf({ spec }: Draft<ReplicaSet>): readonly string[] {
  const { metadata, spec: pod } = spec?.template ?? {};
  const { args = [], env = [] } = pod?.containers.find(({ name }) => name === "etcd") ?? {};
  const variables = env.filter(({ name }) => name.startsWith("ETCD_"));
  const flags = variables.map(({ name, value, valueFrom }) => {
    const annotation = /'(.*)'/.exec(valueFrom?.fieldRef?.fieldPath ?? "")?.[1] ?? "";
    return `--${name.slice("ETCD_".length).toLowerCase().replaceAll("_", "-")}=${value ?? metadata?.annotations?.[annotation]}`;
  });
  return [...flags, ...args];
}

async function mustBecomeMembers(cluster: EtcdCluster): Promise<void> {
  const set = await lastMember(cluster);
  const { template } = (await kube.create(REPLICA_SETS, set, DRY_RUN)).spec ?? {};
  expect(template?.spec?.containers.some(({ name }) => name === "etcd")).toBe(true);
  const binary = binaries.get(listedMinor(cluster.spec.version) ?? "");
  const flags = flagsOf(set);
  expect(flags.length).toBeGreaterThan(8);
  expect(await binary?.refusal(...flags), flags.join(" ")).toBeUndefined();
}

test(`of ${RUNS} generated specs, valid ones give accepted members, and invalid ones are refused with the reason`, {
  timeout: 60_000 + RUNS * 2_000,
}, async () => {
  const seen = { good: 0, schema: 0, webhook: 0 };
  const wrongs = new Set<string>();
  const property = fc.asyncProperty(generatedSpecs, async (generated) => {
    const { wrong } = generated;
    const taken = await stored(generated);
    const words = typeof taken === "string" ? taken : await refusal(taken);
    if (words !== undefined) {
      expect(wrong, `the spec is valid, and was refused: ${words}`).toBeDefined();
      expect(words).toContain(wrong);
      expect(words).toMatch(/[A-Za-z]+ [a-z]+/); // Kubernetes' shortest is "Required value"
      seen[typeof taken === "string" ? "schema" : "webhook"] += 1;
      wrongs.add(wrong ?? "");
      return;
    }
    expect(wrong, "the spec is invalid, and was accepted").toBeUndefined();
    await mustBecomeMembers(taken as EtcdCluster);
    seen.good += 1;
  });
  await fc.assert(property, { numRuns: RUNS, ...(SEED === undefined ? {} : { seed: Number(SEED) }) });
  console.log(`${RUNS} specs: ${JSON.stringify(seen)}, ${wrongs.size} kinds of wrong`);
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(RUNS / 100);
});
