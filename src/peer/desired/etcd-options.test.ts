import { describe, expect, test } from "vitest";
import { peerSpecSchema } from "#api/v1beta1/peer-schema.ts";
import { extraArguments, optionVariables, quotaBytes } from "#peer/desired/etcd-options.ts";

function spec(etcd?: object, size: string | number = "8Gi") {
  return peerSpecSchema.parse({ clusterName: "my-etcd", storage: { size }, ...(etcd === undefined ? {} : { etcd }) });
}

const GI = 1024n ** 3n;

describe("the quota of the database", () => {
  const cases: readonly {
    name: string;
    etcd?: object;
    size?: string | number;
    capacity?: string;
    bytes: bigint | undefined;
  }[] = [
    { name: "is left to etcd by default", bytes: undefined },
    { name: "is the spec's, in bytes", etcd: { quotaBackendBytes: "4Gi" }, bytes: 4n * GI },
    { name: "may be a number", etcd: { quotaBackendBytes: 100_000_000 }, bytes: 100_000_000n },
    { name: "is a quarter of the volume with Auto", etcd: { quotaBackendBytes: "Auto" }, size: "20Gi", bytes: 5n * GI },
    { name: "of Auto is whole", etcd: { quotaBackendBytes: "Auto" }, size: 1_000_000_003, bytes: 250_000_000n },
    { name: "of Auto is 8Gi at most", etcd: { quotaBackendBytes: "Auto" }, size: "32Gi", bytes: 8n * GI },
    { name: "of Auto is 8Gi also on a large volume", etcd: { quotaBackendBytes: "Auto" }, size: "1Ti", bytes: 8n * GI },
    {
      name: "of Auto depends on the capacity if the volume is smaller than requested",
      etcd: { quotaBackendBytes: "Auto" },
      capacity: "4Gi",
      bytes: GI,
    },
    {
      name: "of Auto depends on the request if the volume is larger, since memory was chosen for that",
      etcd: { quotaBackendBytes: "Auto" },
      capacity: "100Gi",
      bytes: 2n * GI,
    },
    {
      name: "is the spec's, whatever the volume's capacity",
      etcd: { quotaBackendBytes: "4Gi" },
      capacity: "1Gi",
      bytes: 4n * GI,
    },
    { name: "is left to etcd when etcd's default just fits", size: "4608Mi", bytes: undefined },
    {
      name: "is half of what the WAL leaves when the default does not fit",
      size: "4607Mi",
      bytes: 2n * GI - GI / 2048n,
    },
    { name: "is a quarter of a volume of 1 GiB", size: "1Gi", bytes: GI / 4n },
    { name: "is a quarter of a volume of 512 MiB", size: "512Mi", bytes: GI / 8n },
    { name: "fits on a volume that is smaller than requested", capacity: "2Gi", bytes: (3n * GI) / 4n },
    { name: "is left to etcd on a volume that was expanded", size: "1Gi", capacity: "8Gi", bytes: undefined },
    { name: "depends on the request if the capacity is unusable", size: "1Gi", capacity: "much", bytes: GI / 4n },
  ];
  test.each(cases)("$name", ({ etcd, size, capacity, bytes }) =>
    expect(quotaBytes(spec(etcd, size), capacity)).toBe(bytes),
  );
});

test("options that are not set are left to etcd", () => {
  expect(optionVariables(spec(), undefined)).toEqual({});
  expect(optionVariables(spec({}), undefined)).toEqual({});
  expect(extraArguments(spec())).toEqual([]);
});

test("options are passed with etcd's names and units", () => {
  const etcd = {
    quotaBackendBytes: "Auto",
    autoCompaction: { mode: "Periodic", retention: "1h" },
    snapshotCount: 5_000,
    heartbeatInterval: "0.25s",
    electionTimeout: "2s500ms",
  };
  expect(optionVariables(spec(etcd), undefined)).toEqual({
    ETCD_QUOTA_BACKEND_BYTES: String(2n * GI),
    ETCD_AUTO_COMPACTION_MODE: "periodic",
    ETCD_AUTO_COMPACTION_RETENTION: "1h",
    ETCD_SNAPSHOT_COUNT: "5000",
    ETCD_HEARTBEAT_INTERVAL: "250",
    ETCD_ELECTION_TIMEOUT: "2500",
  });
  const byRevision = optionVariables(spec({ autoCompaction: { mode: "Revision", retention: "1000" } }), undefined);
  expect(byRevision).toEqual({ ETCD_AUTO_COMPACTION_MODE: "revision", ETCD_AUTO_COMPACTION_RETENTION: "1000" });
});

test("other flags are on the command line, in a stable order", () => {
  const extraArgs = { "max-txn-ops": "256", "enable-pprof": "true", "max-request-bytes": "4194304" };
  expect(extraArguments(spec({ extraArgs }))).toEqual([
    "--enable-pprof=true",
    "--max-request-bytes=4194304",
    "--max-txn-ops=256",
  ]);
});
