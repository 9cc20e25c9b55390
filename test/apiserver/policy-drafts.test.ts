import fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ETCD_REPOSITORY, OPERATOR } from "#api/names.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { backupJob, deletionJob } from "#backup/desired/job.ts";
import { verificationJob } from "#backup/desired/verification.ts";
import type { ApiServer } from "#kit/servers/apiserver.ts";
import { startShipped } from "#kit/servers/shipped.ts";
import { backup, goodTarget, verified } from "#kit/snapshots/etcd-backup.ts";
import { goodObject, restore } from "#kit/snapshots/etcd-restore.ts";
import { peer } from "#kit/snapshots/peer.ts";
import { changesOf, repair } from "#kit/tables/generated-drafts.ts";
import { mayJobRead, mayMemberRead, type Reading, readingsOf } from "#kit/tables/secret-readers.ts";
import type { KubeClient } from "#kube/client.ts";
import { type AnyResource, type Draft, JOBS, type KubeObject, type Pod, REPLICA_SETS } from "#kube/kinds.ts";
import { replicaSet } from "#peer/desired/replica-set.ts";
import { restoreJob } from "#restore/desired/job.ts";

// Generated pods that an attacker with the operator's account might create, as dry runs against the shipped policies.
// No admitted pod reads a Secret beyond docs/permissions.md. An independent oracle computes what a pod can read.
// POLICY_DRAFTS=10000 tries ten thousand in four minutes.

/** Number of generated pods. A thousand take half a minute. */
const DRAFTS = Number(process.env.POLICY_DRAFTS ?? 1_000);
const SEED = 20_261_128;
const AT_ONCE = 24;
/** Only each tenth of the harmless pods is sent: these show that the policies admit something. */
const HARMLESS = 10;
const OPTIONS = { signal: new AbortController().signal, dryRun: true } as const;
const namespace = "foo";
const IMAGE = "operator:test";

type PodSpec = NonNullable<Pod["spec"]>;
type Draftlike = { spec: { template: { spec: PodSpec } } } & Record<string, unknown>;

let server: ApiServer;
let operator: KubeClient;
beforeAll(async () => {
  ({ server, operator } = await startShipped({ namespace, kinds: [ETCD_BACKUPS] }));
  const probe = {
    ...(BASES[0]?.draft as object),
    metadata: { namespace, name: "probe" },
  } as unknown as Draft<KubeObject>;
  // The policy applies a moment after its creation.
  await vi.waitFor(() => expect(operator.create(JOBS, probe, OPTIONS)).rejects.toThrow(OPERATOR), { timeout: 30_000 });
});
afterAll(async () => await server?.stop());

const snapshot = backup({
  stage: "new",
  spec: {
    source: { external: { endpoints: ["https://a:1"], tls: { secretName: "tls" }, auth: { secretName: "root" } } },
    encryption: { keySecretRef: { name: "key", key: "mine" } },
  },
});
const restoring = restore();
const judged = verified({});
const mayJob = (reading: Reading, spec: PodSpec) => mayJobRead(reading, spec, IMAGE);

const BASES: readonly { of: AnyResource; draft: unknown; may: (reading: Reading, spec: PodSpec) => boolean }[] = [
  { of: JOBS, draft: backupJob(snapshot, goodTarget(snapshot), IMAGE), may: mayJob },
  { of: JOBS, draft: deletionJob(snapshot, goodTarget(snapshot), IMAGE), may: mayJob },
  { of: JOBS, draft: verificationJob(judged, goodTarget(judged), IMAGE, `${ETCD_REPOSITORY}:v3.6.16`), may: mayJob },
  { of: JOBS, draft: restoreJob(restoring, restoring.members[0]!, goodObject(restoring), IMAGE), may: mayJob },
  { of: REPLICA_SETS, draft: replicaSet(peer()), may: (reading) => mayMemberRead(reading) },
  { of: REPLICA_SETS, draft: withKeys(replicaSet(peer())), may: (reading) => mayMemberRead(reading) },
];

/** A member with a mounted key pair, and a sidecar. */
function withKeys(draft: unknown): unknown {
  const made = structuredClone(draft) as Draftlike;
  const items = ["tls.crt", "tls.key"].map((key) => ({ key, path: key }));
  const { spec } = made.spec.template;
  const volume = { name: "etcd-peer-tls", projected: { sources: [{ secret: { name: "my-etcd-peer-tls", items } }] } };
  const mount = { name: "etcd-peer-tls", mountPath: "/etc/etcd/tls/peer" };
  const [etcd, ...rest] = spec.containers;
  const withMount = { ...etcd, volumeMounts: [...(etcd?.volumeMounts ?? []), mount] };
  const sidecar = { name: "agent", image: "busybox", securityContext: { allowPrivilegeEscalation: false } };
  Object.assign(spec, { volumes: [...(spec.volumes ?? []), volume], containers: [withMount, ...rest, sidecar] });
  return made;
}

test("the policy admits the operator's own pods, and they read only Secrets that they may read", async () => {
  for (const [n, { of, draft, may }] of BASES.entries()) {
    expect([n, await refusal(of, draft as Draftlike, `base-${n}`)]).toEqual([n, undefined]);
    const { spec } = (draft as Draftlike).spec.template;
    expect([n, readingsOf(spec).filter((reading) => !may(reading, spec))]).toEqual([n, []]);
  }
  const all = BASES.flatMap(({ draft }) => readingsOf((draft as Draftlike).spec.template.spec));
  expect(all.length).toBeGreaterThan(10);
});

test(
  "no randomly changed pod that the policy admits reads a forbidden Secret",
  async () => {
    const tried = fc.sample(changesOf(BASES.length), { numRuns: DRAFTS, seed: SEED });
    const count = { admitted: 0, byPolicy: 0, invalid: 0, reading: 0, forbidden: 0 };
    const leaks: unknown[] = [];
    let next = 0;
    const work = async () => {
      while (next < tried.length) {
        const n = next++;
        const { base, changes } = tried[n]!;
        const { of, draft, may } = BASES[base]!;
        const made = structuredClone(draft) as Draftlike;
        const { spec } = made.spec.template;
        for (const change of changes) change(spec as unknown as Record<string, unknown>);
        repair(spec as unknown as Record<string, unknown>);
        const readings = readingsOf(spec);
        const forbidden = readings.filter((reading) => !may(reading, spec));
        if (forbidden.length > 0) count.forbidden++;
        else if (n % HARMLESS !== 0) continue;
        const why = await refusal(of, made, `draft-${n}`);
        if (why?.includes("ValidatingAdmissionPolicy")) count.byPolicy++;
        else if (why !== undefined) count.invalid++;
        else {
          count.admitted++;
          if (readings.length > 0) count.reading++;
          if (forbidden.length > 0) leaks.push({ n, forbidden, spec });
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    expect(leaks.slice(0, 3), `${leaks.length} leaks with the seed ${SEED}: ${JSON.stringify(count)}`).toEqual([]);
    // Without enough pods of each kind, nothing has been tested.
    console.log(`${next} pods: ${JSON.stringify(count)}`);
    const enough = { admitted: 0.01, reading: 0.005, byPolicy: 0.2, forbidden: 0.2 };
    for (const [what, least] of Object.entries(enough))
      expect(count[what as keyof typeof count], `${what} of ${next}`).toBeGreaterThan(least * next);
    expect(count.invalid).toBeLessThan(next / 4);
  },
  60_000 + DRAFTS * 300,
);

/** Sends a dry run. @returns the refusal; undefined when the API server would create it */
async function refusal(of: AnyResource, draft: Draftlike, name: string): Promise<string | undefined> {
  const metadata = { ...(draft.metadata as object), namespace, name };
  return await operator.create(of, { ...draft, metadata } as unknown as Draft<KubeObject>, OPTIONS).then(
    () => undefined,
    (thrown: Error) => thrown.message,
  );
}
