import fc from "fast-check";
import { expect, test } from "vitest";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { ETCD_RESTORES } from "#api/v1beta1/restore.ts";
import { ETCD_BACKUP_SCHEDULES } from "#api/v1beta1/schedule.ts";
import { OperatorError } from "#base/error.ts";
import { silentLog } from "#base/log.ts";
import { admission } from "#kit/hostile/admission.ts";
import { cpuMsOf, MAX_BLOCKED_MS } from "#kit/hostile/cost.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { answerConversion } from "#webhooks/conversion.ts";

// Requests that are nearly those of an API server: parts of valid requests are replaced, removed or changed.
// The handlers answer each of them or refuse it with InvalidSpec. Any other error would be a status 500.

/** fast-check prints the seed and the path of a case that fails. */
const BUDGET = { numRuns: 1_500, seed: 20_261_128, interruptAfterTimeLimit: 120_000 };

/** Values that replace others. */
const ODD = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 1e308, "", "x", [], {}, [null], [[]], { a: null }, "\u0000", "\ud800"),
  fc.constantFrom<unknown>("__proto__", "constructor", "toString", { toString: null }, { length: 5 }, "EtcdCluster"),
  fc.constantFrom<unknown>("1".repeat(5_000), "[".repeat(5_000), "a,".repeat(5_000), "3.6.", "9".repeat(400), "-1Gi"),
  fc.jsonValue({ maxDepth: 4 }),
);
const NAME = fc.constantFrom(
  "__proto__",
  "constructor",
  "name",
  "secret",
  "spec",
  "0",
  "",
  "$patch",
  "etcd.improbable.io/waive",
);

type Change =
  | { readonly is: "put"; readonly at: number; readonly value: unknown }
  | { readonly is: "remove"; readonly at: number }
  | { readonly is: "add"; readonly at: number; readonly name: string; readonly value: unknown }
  | { readonly is: "copy"; readonly at: number; readonly from: number }
  | { readonly is: "repeat"; readonly at: number; readonly times: number };
const CHANGE: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ is: fc.constant("put" as const), at: fc.nat(), value: ODD }),
  fc.record({ is: fc.constant("remove" as const), at: fc.nat() }),
  fc.record({ is: fc.constant("add" as const), at: fc.nat(), name: NAME, value: ODD }),
  fc.record({ is: fc.constant("copy" as const), at: fc.nat(), from: fc.nat() }),
  fc.record({ is: fc.constant("repeat" as const), at: fc.nat(), times: fc.integer({ min: 2, max: 200 }) }),
);

interface Place {
  readonly of: Record<string, unknown>;
  readonly name: string;
}

/** Every value inside a value, as its parent and its key. */
function placesIn(value: unknown, places: Place[] = []): readonly Place[] {
  if (typeof value !== "object" || value === null || places.length > 5_000) return places;
  for (const name of Object.keys(value)) {
    const of = value as Record<string, unknown>;
    places.push({ of, name });
    placesIn(of[name], places);
  }
  return places;
}

/** The body with the changes, as parsed from JSON: `__proto__` is an ordinary key. */
function changed(body: object, changes: readonly Change[]): unknown {
  let now = structuredClone(body);
  for (const change of changes) {
    const places = placesIn(now);
    const { of, name } = places[change.at % Math.max(1, places.length)] ?? { of: {}, name: "" };
    const from = change.is === "copy" ? places[change.from % Math.max(1, places.length)] : undefined;
    const put = (value: unknown, at = name): void =>
      void Object.defineProperty(of, at, { value, enumerable: true, configurable: true, writable: true });
    if (change.is === "put") put(change.value);
    else if (change.is === "remove") delete of[name];
    else if (change.is === "add") put(change.value, change.name);
    else if (change.is === "repeat") put(Array.from({ length: change.times }, () => of[name]));
    else if (from !== undefined) put(structuredClone(from.of[from.name]));
    now = JSON.parse(JSON.stringify(now)) as object;
  }
  return now;
}

/** Checks that there is an answer or a refusal. @throws every other error */
async function refusalOf(answer: () => unknown): Promise<void> {
  try {
    const given = await answer();
    expect(JSON.stringify(given)).toMatch(/^\{"apiVersion":/);
  } catch (thrown) {
    if (!(thrown instanceof OperatorError) || thrown.code !== "InvalidSpec") throw thrown;
    expect(thrown.message).not.toBe("");
  }
}

const rich = cluster().cluster;
const pod = {
  metadata: { labels: { team: "a" }, annotations: { note: "b" } },
  spec: {
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "zone" }] } },
    topologySpreadConstraints: [{ topologyKey: "zone", maxSkew: 1, whenUnsatisfiable: "ScheduleAnyway" }],
    volumes: [
      { name: "more", persistentVolumeClaim: { claimName: "more" } },
      { name: "tmp", emptyDir: { sizeLimit: "1Gi" } },
    ],
    containers: [
      {
        name: "etcd",
        env: [{ name: "A", value: "b" }],
        resources: { limits: { memory: "4Gi" }, requests: { cpu: "1" } },
      },
      {
        name: "side",
        image: "side:1",
        volumeMounts: [{ name: "tmp", mountPath: "/tmp" }],
        ports: [{ containerPort: 80 }],
      },
    ],
  },
};
const object = {
  ...rich,
  metadata: {
    ...rich.metadata,
    annotations: {
      "etcd.improbable.io/dry-run": '{"replicas":5}',
      "etcd.improbable.io/waive": "MembersReady until 2026-11-28T12:00:00Z",
      "etcd.improbable.io/rotate-peer-ca": "1",
    },
  },
  spec: {
    ...rich.spec,
    podTemplate: pod,
    etcd: { extraArgs: { "max-txn-ops": "128", "auto-compaction-retention": "1h" } },
    tls: {
      peer: { provider: "Operator", extraNames: ["a.example"] },
      client: { provider: "Secret", secret: { server: { name: "server" }, operator: { name: "own" } } },
    },
    networkPolicy: {
      enabled: true,
      clients: { policy: "Listed", from: [{ podSelector: { matchLabels: { app: "x" } } }] },
      metrics: { policy: "Listed" },
    },
    auth: { enabled: true },
  },
};

function review(operation: string, oldObject: unknown, kind = "EtcdCluster"): object {
  const of = { group: "etcd.improbable.io", version: "v1beta1", kind };
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: { uid: "u", kind: of, requestKind: of, operation, object, oldObject },
  };
}
const scale = { uid: "u", kind: { group: "autoscaling", version: "v1", kind: "Scale" }, operation: "UPDATE" };
const ADMISSIONS: Readonly<Record<string, object>> = {
  "a creation": review("CREATE", null),
  "an edit": review("UPDATE", { ...object, spec: { ...object.spec, version: "3.5.30", podTemplate: {} } }),
  "a scale": {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: { ...scale, object: { spec: { replicas: 5 } }, oldObject: { spec: { replicas: 3 } } },
  },
};

test.each(Object.entries(ADMISSIONS))(
  "the admission webhook answers or refuses %s with random changes in less than 200 ms",
  async (_name, body) => {
    await refusalOf(() => admission.answer(body, new AbortController().signal));
    await fc.assert(
      fc.asyncProperty(fc.array(CHANGE, { minLength: 1, maxLength: 6 }), async (changes) => {
        const question = changed(body, changes);
        const ms = await cpuMsOf(() => refusalOf(() => admission.answer(question, new AbortController().signal)));
        expect(ms).toBeLessThan(MAX_BLOCKED_MS);
      }),
      BUDGET,
    );
  },
);

const KINDS = [ETCD_CLUSTERS, ETCD_PEERS, ETCD_BACKUPS, ETCD_RESTORES, ETCD_BACKUP_SCHEDULES].map(({ kind }) => kind);
test.each(KINDS)(
  "the conversion webhook answers or refuses a randomly changed %s in less than 200 ms",
  async (kind) => {
    const spec = {
      ...object.spec,
      clusterName: "my-etcd",
      source: { clusterRef: { name: "my-etcd" }, s3: { bucket: "b", key: "k" } },
      destination: { s3: { bucket: "b", objectURL: "s3://b/{{.Namespace}}" } },
      schedule: "0 3 * * *",
      backupTemplate: { spec: { destination: {} } },
      cluster: object.spec,
      previous: { version: "3.5.30", podTemplate: pod },
    };
    const whole = { ...object, kind, spec };
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("v1alpha1", "v1beta1"),
        fc.constantFrom("v1alpha1", "v1beta1"),
        fc.array(CHANGE, { minLength: 1, maxLength: 6 }),
        async (from, to, changes) => {
          const objects = [{ ...whole, apiVersion: `etcd.improbable.io/${from}` }];
          const request = { uid: "u", desiredAPIVersion: `etcd.improbable.io/${to}`, objects };
          const body = { apiVersion: "apiextensions.k8s.io/v1", kind: "ConversionReview", request };
          const question = changed(body, changes);
          const ms = await cpuMsOf(() => refusalOf(() => answerConversion(question, silentLog)));
          expect(ms).toBeLessThan(MAX_BLOCKED_MS);
        },
      ),
      { ...BUDGET, numRuns: BUDGET.numRuns / 3 },
    );
  },
);
