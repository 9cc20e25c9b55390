import { describe, expect, test } from "vitest";
import { etcdSchema } from "#api/v1beta1/etcd-schema.ts";
import { peerSpecSchema } from "#api/v1beta1/peer-schema.ts";
import { RESERVED } from "#etcd/flags/reserved.ts";
import { extraArguments, optionVariables, quotaBytes } from "#peer/desired/etcd-options.ts";

function spec(etcd?: object, size: string | number = "8Gi") {
  return peerSpecSchema.parse({
    clusterName: "my-etcd",
    version: "3.6.16",
    storage: { size },
    ...(etcd === undefined ? {} : { etcd }),
  });
}

const GI = 1024n ** 3n;

describe("etcd's database quota", () => {
  const cases: readonly {
    name: string;
    etcd?: object;
    size?: string | number;
    capacity?: string;
    bytes: bigint | undefined;
  }[] = [
    { name: "is not set by default", bytes: undefined },
    { name: "is the spec's quota in bytes", etcd: { backendQuota: { mode: "Fixed", size: "4Gi" } }, bytes: 4n * GI },
    {
      name: "is the spec's quota, which may be a number",
      etcd: { backendQuota: { mode: "Fixed", size: 100_000_000 } },
      bytes: 100_000_000n,
    },
    {
      name: "is a quarter of the volume with Auto",
      etcd: { backendQuota: { mode: "Auto" } },
      size: "20Gi",
      bytes: 5n * GI,
    },
    {
      name: "with Auto is a whole number",
      etcd: { backendQuota: { mode: "Auto" } },
      size: 1_000_000_003,
      bytes: 250_000_000n,
    },
    { name: "with Auto is 8Gi at most", etcd: { backendQuota: { mode: "Auto" } }, size: "32Gi", bytes: 8n * GI },
    {
      name: "with Auto is 8Gi on a very large volume",
      etcd: { backendQuota: { mode: "Auto" } },
      size: "1Ti",
      bytes: 8n * GI,
    },
    {
      name: "with Auto is computed from the capacity if the volume is smaller than requested",
      etcd: { backendQuota: { mode: "Auto" } },
      capacity: "4Gi",
      bytes: GI,
    },
    {
      name: "with Auto is computed from the request if the volume is larger than requested",
      etcd: { backendQuota: { mode: "Auto" } },
      capacity: "100Gi",
      bytes: 2n * GI,
    },
    {
      name: "is the spec's quota, whatever the volume's capacity is",
      etcd: { backendQuota: { mode: "Fixed", size: "4Gi" } },
      capacity: "1Gi",
      bytes: 4n * GI,
    },
    { name: "is the default with Fixed and no size", etcd: { backendQuota: { mode: "Fixed" } }, bytes: undefined },
    { name: "is not set when etcd's default fits on the volume", size: "4608Mi", bytes: undefined },
    {
      name: "is half of what the WAL leaves when etcd's default does not fit",
      size: "4607Mi",
      bytes: 2n * GI - GI / 2048n,
    },
    { name: "is a quarter of a volume of 1 GiB", size: "1Gi", bytes: GI / 4n },
    { name: "is a quarter of a volume of 512 MiB", size: "512Mi", bytes: GI / 8n },
    { name: "is reduced on a volume that is smaller than requested", capacity: "2Gi", bytes: (3n * GI) / 4n },
    { name: "is not set on a volume that was expanded", size: "1Gi", capacity: "8Gi", bytes: undefined },
    { name: "is computed from the request if the capacity is invalid", size: "1Gi", capacity: "much", bytes: GI / 4n },
  ];
  test.each(cases)("$name", ({ etcd, size, capacity, bytes }) =>
    expect(quotaBytes(spec(etcd, size), capacity)).toBe(bytes),
  );
});

test("options that the spec does not set are not passed to etcd", () => {
  expect(optionVariables(spec(), undefined)).toEqual({});
  expect(optionVariables(spec({}), undefined)).toEqual({});
  expect(extraArguments(spec())).toEqual([]);
});

test("options are passed as etcd's environment variables in etcd's units", () => {
  const etcd = {
    backendQuota: { mode: "Auto" },
    autoCompaction: { mode: "Periodic", period: "1h" },
    snapshotCount: 5_000,
    heartbeatInterval: "250ms",
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
  const byRevision = optionVariables(spec({ autoCompaction: { mode: "Revision", revisions: 1_000 } }), undefined);
  expect(byRevision).toEqual({ ETCD_AUTO_COMPACTION_MODE: "revision", ETCD_AUTO_COMPACTION_RETENTION: "1000" });
  expect(optionVariables(spec({ autoCompaction: { mode: "None" } }), undefined)).toEqual({});
});

test("extraArgs are passed on the command line in a stable order", () => {
  const extraArgs = { "max-txn-ops": "256", "enable-pprof": "true", "max-request-bytes": "4194304" };
  expect(extraArguments(spec({ extraArgs }))).toEqual([
    "--enable-pprof=true",
    "--max-request-bytes=4194304",
    "--max-txn-ops=256",
  ]);
});

describe("every field of spec.etcd", () => {
  const fields: Record<string, unknown> = {
    backendQuota: { mode: "Fixed", size: "4Gi" },
    autoCompaction: { mode: "Periodic", period: "1h" },
    snapshotCount: 5_000,
    heartbeatInterval: "200ms",
    electionTimeout: "2s",
    extraArgs: { "max-txn-ops": "512" },
  };
  const reaching = (etcd: object) => [optionVariables(spec(etcd), undefined), extraArguments(spec(etcd))];

  test("has a value in this test", () => {
    expect(Object.keys(fields).sort()).toEqual(Object.keys(etcdSchema.shape).sort());
  });

  test.each(Object.keys(fields))("reaches the member: %s", (name) => {
    const { [name]: _, ...others } = fields;
    expect(reaching(fields)).not.toEqual(reaching(others));
  });

  test("sets a flag that extraArgs refuses", () => {
    const flags = Object.keys(optionVariables(spec(fields), undefined)).map((variable) =>
      variable
        .replace(/^ETCD_/, "")
        .toLowerCase()
        .replaceAll("_", "-"),
    );
    expect(flags.filter((flag) => !RESERVED.has(flag))).toEqual([]);
  });
});
