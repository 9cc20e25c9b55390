import fc from "fast-check";
import { FLAGS, type Kind } from "#etcd/flags/list.ts";
import { RESERVED } from "#etcd/flags/reserved.ts";
import { listedMinor, minorsBetween } from "#etcd/flags/span.ts";
import { WRONG } from "./generated-wrongs.ts";

// Specs of EtcdClusters as people may write them: valid ones, and valid ones with one known mistake. The lists of this
// file define what is valid, independently of the code under test.

/** A spec as a user writes it, before defaults and checks. */
export type Written = Readonly<Record<string, unknown>>;

export interface GeneratedSpec {
  readonly name: string;
  readonly spec: Written;
  /** The mistake, by the name that the refusal must contain; undefined for a valid spec. */
  readonly wrong?: string;
}

/** Some of these fields. */
function some(fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Written> {
  return fc.record(fields, { requiredKeys: [] });
}

const word = fc.constantFrom("a", "b-c", "shop");
const labels = fc.dictionary(fc.constantFrom("team", "example.com/tier", "cost-centre"), word, { maxKeys: 2 });
const annotations = fc.dictionary(fc.constantFrom("example.com/scrape", "note"), fc.string({ maxLength: 20 }), {
  maxKeys: 2,
});

const VERSIONS = ["3.5.11", "3.5.35", "3.6.0", "3.6.16", "3.6.123", "3.7.0", "3.7.3"];

const image = some({
  repository: fc.constantFrom("registry.example/etcd", "localhost:5000/team/etcd", "[::1]:80/a__b/c.d", "etcd"),
  digest: fc.stringMatching(/^[0-9a-f]{64}$/).map((digits) => `sha256:${digits}`),
  pullPolicy: fc.constantFrom("Always", "IfNotPresent", "Never"),
  pullSecrets: fc.uniqueArray(fc.constantFrom("mirror", "other"), { maxLength: 2 }).map((names) => names.map(named)),
});

function named(name: string) {
  return { name };
}

const storage = some({
  size: fc.constantFrom("1Gi", "8Gi", "0.5Ti", "100M", 1_073_741_824, "1500m"),
  storageClassName: fc.constantFrom("fast", "local"),
  accessModes: fc.constantFrom(["ReadWriteOnce"], ["ReadWriteOncePod"]),
  volumeAttributesClassName: fc.constant("gold"),
  selector: fc.record({ matchLabels: labels }),
});

const periodic = fc.constantFrom("1h", "30m", "1h30m", "90s", "87600h").map((period) => ({ mode: "Periodic", period }));
const byRevision = fc.constantFrom(1, 1_000, 1_000_000_000_000).map((revisions) => ({ mode: "Revision", revisions }));

/** Durations as people write them. */
function durations(min: number, max: number): fc.Arbitrary<string> {
  const ms = fc.integer({ min, max });
  return ms.chain((n) => fc.constantFrom(`${n}ms`, `${Math.floor(n / 1_000)}s${n % 1_000}ms`));
}

/** etcd requires an election timeout of at least five heartbeat intervals. The defaults are 1 s and 100 ms. */
const beats = fc.oneof(
  some({ heartbeatInterval: durations(10, 200) }),
  some({ electionTimeout: durations(500, 50_000) }),
  fc.record({ heartbeatInterval: durations(10, 1_000), electionTimeout: durations(5_000, 50_000) }),
);

const VALUES: Readonly<Record<Kind, readonly string[]>> = {
  bool: ["true", "false"],
  duration: ["0", "1m30s", "5s"],
  int: ["-1", "0", "128"],
  uint: ["0", "1", "4096"],
  uint32: ["0", "1", "4294967295"],
  gates: ["AllAlpha=true", "AllBeta=false"],
  text: ["", "x", "a b,c=d"],
  urls: ["http://127.0.0.1:1", "https://[::1]:1,http://127.0.0.2:65535"],
  other: [],
  ignored: [],
};

/** Flags that this release has under no newer name, and that the operator does not set itself. */
function extraArgs(version: string): fc.Arbitrary<Written> {
  const minor = listedMinor(version);
  const own = FLAGS.filter(([name, takes, first, last, , instead]) => {
    const isThere = minor !== undefined && minorsBetween(first, last).includes(minor);
    return isThere && instead === undefined && VALUES[takes].length > 0 && !RESERVED.has(name);
  });
  const one = fc
    .constantFrom(...own)
    .chain(([name, takes]) => fc.tuple(fc.constant(name), fc.constantFrom(...VALUES[takes])));
  return fc.uniqueArray(one, { maxLength: 6, selector: ([name]) => name }).map((args) => Object.fromEntries(args));
}

function etcd(version: string): fc.Arbitrary<Written> {
  const rest = some({
    backendQuota: fc.oneof(
      fc.constant({ mode: "Auto" }),
      fc.constantFrom("64Mi", "1Ti", "2.5Gi", 4_294_967_296).map((size) => ({ mode: "Fixed", size })),
    ),
    autoCompaction: fc.oneof(periodic, byRevision, fc.constant({ mode: "None" })),
    snapshotCount: fc.integer({ min: 100, max: 10_000_000 }),
    extraArgs: extraArgs(version),
  });
  return fc.tuple(rest, beats).map(([options, ...beat]) => Object.assign({}, options, ...beat));
}

const amounts = { cpu: fc.constantFrom("500m", 1, "0.25"), memory: fc.constantFrom("512Mi", "1Gi", 1_073_741_824) };
const resources = some({ requests: some(amounts) });
const etcdContainer = some({
  resources: fc.oneof(resources, fc.constant({ requests: { cpu: "1" }, limits: { cpu: "2", memory: "2Gi" } })),
  env: fc.constant([{ name: "TZ", value: "UTC" }]),
  volumeMounts: fc.constant([{ name: "scratch", mountPath: "/tmp" }]),
}).map((part) => ({ name: "etcd", ...part }));
const sidecar = fc.record({
  name: fc.constantFrom("shipper", "proxy"),
  image: fc.constant("registry.example/x:1"),
  resources,
});
const containers = fc.tuple(etcdContainer, fc.uniqueArray(sidecar, { maxLength: 2, selector: ({ name }) => name }));

const podSpec = fc
  .tuple(
    containers,
    some({
      tolerations: fc.constant([{ key: "dedicated", operator: "Exists" }]),
      nodeSelector: labels,
      priorityClassName: fc.constant("important"),
      terminationGracePeriodSeconds: fc.integer({ min: 10, max: 600 }),
      schedulerName: fc.constant("other-scheduler"),
      securityContext: fc.record({ runAsUser: fc.integer({ min: 1, max: 65_535 }) }),
      affinity: fc.constant({ nodeAffinity: {} }),
      dnsConfig: fc.constant({ options: [{ name: "ndots", value: "2" }] }),
      topologySpreadConstraints: fc.constant([]),
    }),
  )
  // The mounted volume always exists.
  .map(([[own, beside], rest]) => ({
    ...rest,
    containers: [...beside, own],
    volumes: [{ name: "scratch", emptyDir: {} }],
  }));

const podTemplate = some({ metadata: some({ labels, annotations }), spec: podSpec });

const networkPeer = fc.constantFrom(
  { podSelector: {} },
  { namespaceSelector: { matchLabels: { team: "a" } }, podSelector: { matchLabels: { app: "b" } } },
  { ipBlock: { cidr: "192.0.2.0/24", except: ["192.0.2.1/32"] } },
);

const networkAccess = fc.oneof(
  fc.constant({ policy: "Namespace" }),
  fc.record(
    { policy: fc.constant("Listed"), from: fc.array(networkPeer, { maxLength: 3 }) },
    { requiredKeys: ["policy"] },
  ),
);

const lives = fc.constantFrom<Written>({}, { duration: "24h" }, { duration: "2160h", renewBefore: "720h" });
/** Too short for cert-manager. */
const shortLives = fc.constantFrom<Written>({ duration: "10m", renewBefore: "5m" }, { renewBefore: "1h" });
const issuer = some({
  kind: fc.constantFrom("Issuer", "ClusterIssuer"),
  group: fc.constant("cert-manager.io"),
}).map((rest) => ({ certManager: { issuerRef: { name: "company", ...rest } } }));

/**
 * One side of `spec.tls`.
 * @param secret fields for provider Secret
 * @param issued fields for the providers that issue certificates
 */
function tlsSide(secret: Written, issued: fc.Arbitrary<Written>): fc.Arbitrary<Written> {
  const all = (provider: string, ...parts: readonly fc.Arbitrary<Written>[]) =>
    fc.tuple(...parts).map((each) => Object.assign({ provider }, ...each));
  return fc.oneof(
    fc.constant({ provider: "None" }),
    fc.constant({ provider: "Secret", secret }),
    all("Operator", fc.oneof(lives, shortLives), issued),
    all("CertManager", issuer, lives, issued),
  );
}

const extraNames = fc.uniqueArray(fc.constantFrom("etcd.example.com", "*.example.com", "10.0.0.1", "fd00::1"));
const secrets = { server: { name: "server-tls" }, operator: { name: "operator-tls" } };
const tls = fc
  .tuple(
    some({ peer: tlsSide({ name: "members-tls" }, fc.constant({})) }),
    some({
      client: tlsSide(secrets, some({ extraNames, clientCertificates: fc.constantFrom("Required", "NotRequired") })),
    }),
    fc.constantFrom<Written>(
      {},
      { minVersion: "TLS1.3" },
      { minVersion: "TLS1.2", cipherSuites: ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"] },
    ),
  )
  .map((parts) => Object.assign({}, ...parts));

const whole = fc.constantFrom(...VERSIONS).chain((version) =>
  fc
    .record(
      {
        replicas: fc.integer({ min: 1, max: 7 }),
        version: fc.constant(version),
        image,
        storage,
        etcd: etcd(version),
        podTemplate,
        clientService: some({
          metadata: some({ labels, annotations }),
          spec: some({
            type: fc.constantFrom("ClusterIP", "NodePort", "LoadBalancer"),
            trafficDistribution: fc.constantFrom("PreferClose", "PreferSameZone", "PreferSameNode"),
          }),
        }),
        clientSecret: some({ metadata: some({ labels, annotations }) }),
        caConfigMap: some({ metadata: some({ labels, annotations }) }),
        updateStrategy: some({
          type: fc.constantFrom("RollingUpdate", "OnDelete"),
          memberTimeout: fc.constantFrom("10s", "10m", "1h30m", "24h"),
        }),
        replacement: fc.oneof(
          some({ policy: fc.constant("WhenLost"), after: fc.constantFrom("0s", "5m", "24h") }),
          fc.constant({ policy: "Never" }),
        ),
        tls,
        disruptionBudget: fc.constantFrom({ policy: "Quorum" }, { policy: "None" }),
        networkPolicy: fc.record(
          { enabled: fc.boolean(), clients: networkAccess, metrics: networkAccess },
          { requiredKeys: ["enabled", "clients"] },
        ),
        monitoring: some({
          podMonitor: fc.record(
            { enabled: fc.boolean(), metadata: some({ labels, annotations }) },
            { requiredKeys: ["enabled"] },
          ),
        }),
        paused: fc.boolean(),
      },
      { requiredKeys: ["replicas", "version"] },
    )
    .map((spec) => spec as Written),
);

const name = fc.stringMatching(/^[a-z]([-a-z0-9]{0,30}[a-z0-9])?$/);

/** Two of three are valid. */
export const generatedSpecs: fc.Arbitrary<GeneratedSpec> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ name, spec: whole }) },
  {
    weight: 1,
    arbitrary: fc
      .record({ name, spec: whole, wrong: fc.constantFrom(...WRONG) })
      .map(({ wrong: [says, part], ...good }) => ({ ...good, spec: together(good.spec, part), wrong: says })),
  },
);

/** Merges the mistake into a valid spec: maps field by field, any other value replaces. */
function together(good: unknown, wrong: Written): Written {
  const base = isMap(good) ? good : {};
  const parts = Object.entries(wrong).map(([field, value]) => [
    field,
    isMap(value) ? together(base[field], value) : value,
  ]);
  return { ...base, ...Object.fromEntries(parts) };
}

function isMap(value: unknown): value is Written {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
