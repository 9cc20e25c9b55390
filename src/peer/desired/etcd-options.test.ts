import { describe, expect, test } from "vitest";
import { peerSpecSchema } from "#api/v1beta1/peer-schema.ts";
import { extraArguments, optionVariables, quotaBytes } from "#peer/desired/etcd-options.ts";

function spec(etcd?: object, size: string | number = "8Gi") {
  return peerSpecSchema.parse({ clusterName: "my-etcd", storage: { size }, ...(etcd === undefined ? {} : { etcd }) });
}

const GI = 1024n ** 3n;

describe("the quota of the database", () => {
  const cases: readonly { name: string; etcd?: object; size?: string | number; bytes: bigint | undefined }[] = [
    { name: "is left to etcd when nobody says one", bytes: undefined },
    { name: "is what is said, in bytes", etcd: { quotaBackendBytes: "4Gi" }, bytes: 4n * GI },
    { name: "may be said as a number", etcd: { quotaBackendBytes: 100_000_000 }, bytes: 100_000_000n },
    { name: "is a quarter of the volume with Auto", etcd: { quotaBackendBytes: "Auto" }, size: "20Gi", bytes: 5n * GI },
    { name: "of Auto is whole", etcd: { quotaBackendBytes: "Auto" }, size: 1_000_000_003, bytes: 250_000_000n },
    { name: "of Auto is 8Gi at most", etcd: { quotaBackendBytes: "Auto" }, size: "32Gi", bytes: 8n * GI },
    { name: "of Auto is no more on a large volume", etcd: { quotaBackendBytes: "Auto" }, size: "1Ti", bytes: 8n * GI },
  ];
  test.each(cases)("$name", ({ etcd, size, bytes }) => expect(quotaBytes(spec(etcd, size))).toBe(bytes));
});

test("what is not said is left to etcd", () => {
  expect(optionVariables(spec())).toEqual({});
  expect(optionVariables(spec({}))).toEqual({});
  expect(extraArguments(spec())).toEqual([]);
});

test("what is said reaches etcd in its own words and units", () => {
  const etcd = {
    quotaBackendBytes: "Auto",
    autoCompaction: { mode: "Periodic", retention: "1h" },
    snapshotCount: 5_000,
    heartbeatInterval: "0.25s",
    electionTimeout: "2s500ms",
  };
  expect(optionVariables(spec(etcd))).toEqual({
    ETCD_QUOTA_BACKEND_BYTES: String(2n * GI),
    ETCD_AUTO_COMPACTION_MODE: "periodic",
    ETCD_AUTO_COMPACTION_RETENTION: "1h",
    ETCD_SNAPSHOT_COUNT: "5000",
    ETCD_HEARTBEAT_INTERVAL: "250",
    ETCD_ELECTION_TIMEOUT: "2500",
  });
  const byRevision = optionVariables(spec({ autoCompaction: { mode: "Revision", retention: "1000" } }));
  expect(byRevision).toEqual({ ETCD_AUTO_COMPACTION_MODE: "revision", ETCD_AUTO_COMPACTION_RETENTION: "1000" });
});

test("other flags stand on the command line, in a stable order", () => {
  const extraArgs = { "max-txn-ops": "256", "enable-pprof": "true", "max-request-bytes": "4194304" };
  expect(extraArguments(spec({ extraArgs }))).toEqual([
    "--enable-pprof=true",
    "--max-request-bytes=4194304",
    "--max-txn-ops=256",
  ]);
});
