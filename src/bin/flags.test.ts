import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readFlags, USAGE } from "./flags.ts";

test("each flag has a default, which the help lists", () => {
  const flags = readFlags([], {});
  expect(flags).toMatchObject({
    help: false,
    kubeconfig: undefined,
    operatorNamespace: "etcd-operator-system",
    webhookNamespace: "etcd-operator-system",
    httpPort: 8080,
    webhookPort: 9443,
    metricsPort: 8443,
    insecureMetrics: false,
    shards: 1,
    workers: 100,
    kubeRequestsPerSecond: 500,
    replaceAfterMs: 300_000,
    memberTimeoutMs: 600_000,
    rereadWithinMs: 150_000,
    logLevel: "info",
  });
  for (const value of [
    flags.workers,
    flags.kubeRequestsPerSecond,
    flags.httpPort,
    flags.webhookPort,
    flags.metricsPort,
    flags.operatorNamespace,
    "5m",
    "10m",
    "150s",
  ]) {
    expect(USAGE).toContain(String(value));
  }
});

test("each flag with a value in the documents is valid", async () => {
  const root = join(import.meta.dirname, "../..");
  const docs = (await readdir(join(root, "docs"))).filter((file) => file.endsWith(".md"));
  const files = ["README.md", ...docs.map((file) => join("docs", file))];
  const text = (await Promise.all(files.map((file) => readFile(join(root, file), "utf8")))).join("\n");
  const known = new Set([...USAGE.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, flag]) => flag));
  const given = [...text.matchAll(/(--[a-z-]+)=[^\s`"',)]+/g)].flatMap(([words, flag]) =>
    known.has(flag) ? [words] : [],
  );
  expect(given).toContain("--replace-after=10m");
  for (const words of given) expect(() => readFlags([words], {}), words).not.toThrow();
});

test("--insecure-metrics serves metrics in plain text to every client", () => {
  expect(readFlags(["--insecure-metrics"], {}).insecureMetrics).toBe(true);
});

test("two processes never have the same identity in the lease", () => {
  expect(readFlags([], {}).identity).not.toBe(readFlags([], {}).identity);
});

describe("a flag with a number", () => {
  const numbers = [
    { flag: "--http-port", field: "httpPort", min: 0, max: 65_535 },
    { flag: "--webhook-port", field: "webhookPort", min: 0, max: 65_535 },
    { flag: "--metrics-port", field: "metricsPort", min: 0, max: 65_535 },
    { flag: "--shards", field: "shards", min: 1, max: 16 },
    { flag: "--workers", field: "workers", min: 1, max: 1_000 },
    { flag: "--kube-requests-per-second", field: "kubeRequestsPerSecond", min: 1, max: 10_000 },
    { flag: "--running-backups", field: "runningBackups", min: 3, max: 10_000 },
  ] as const;

  test.each(numbers)("$flag accepts $min to $max", ({ flag, field, min, max }) => {
    for (const value of [min, max]) expect(readFlags([`${flag}=${value}`], {})[field]).toBe(value);
  });

  test.each(numbers)("$flag refuses other values with its name and range in the message", ({ flag, min, max }) => {
    for (const text of [
      String(max + 1),
      "-1",
      "",
      "ten",
      "1.5",
      "1e2",
      "0x10",
      " 5",
      ...(min > 0 ? ["0", String(min - 1)] : []),
    ]) {
      expect(() => readFlags([`${flag}=${text}`], {})).toThrow(
        `${flag} is ${text}; it must be a whole number from ${min} to ${max}`,
      );
    }
  });
});

describe("a flag with a duration", () => {
  const HOURS_24 = 86_400_000;
  const durations = [
    { flag: "--replace-after", field: "replaceAfterMs", min: "0s", minMs: 0 },
    { flag: "--member-timeout", field: "memberTimeoutMs", min: "10s", minMs: 10_000 },
    { flag: "--reread-within", field: "rereadWithinMs", min: "100s", minMs: 100_000 },
  ] as const;

  test.each(durations)("$flag accepts $min to 24h", ({ flag, field, min, minMs }) => {
    const of = (text: string) => readFlags([`${flag}=${text}`], {})[field];
    expect([min, "24h", "23h59m60s", "1h30m"].map(of)).toEqual([minMs, HOURS_24, HOURS_24, 5_400_000]);
  });

  test.each(durations)("$flag refuses other values with its name and range in the message", ({ flag, min, minMs }) => {
    const below = minMs === 0 ? [] : ["0s", `${minMs - 1}ms`];
    for (const text of ["86400001ms", "25h", "-5m", "", "300", "0", "ten", "5 m", "5M", "1d", "Never", ...below]) {
      expect(() => readFlags([`${flag}=${text}`], {})).toThrow(
        `${flag} is ${text}; it must be a duration from ${min} to 24h, such as 1m30s`,
      );
    }
  });
});

test("--operator-namespace is where the operator and its webhooks are; POD_NAMESPACE is the default", () => {
  const of = (args: string[], env = {}) => {
    const { operatorNamespace, webhookNamespace } = readFlags(args, env);
    return [operatorNamespace, webhookNamespace];
  };
  expect(of(["--operator-namespace=a"], { POD_NAMESPACE: "b" })).toEqual(["a", "a"]);
  expect(of([], { POD_NAMESPACE: "b" })).toEqual(["b", "b"]);
  expect(() => of(["--namespace=a"])).toThrow(/--namespace[\s\S]*Usage: operator/);
});

test("--watch-namespaces is a list of namespaces; without it all are watched", () => {
  const of = (...args: string[]) => readFlags(args, {}).watchNamespaces;
  expect(of()).toBeUndefined();
  expect(of("--watch-namespaces=shop,billing,shop")).toEqual(["shop", "billing"]);
  for (const [text, wrong] of [
    ["", ""],
    ["shop,", ""],
    ["shop, billing", " billing"],
    ["Shop", "Shop"],
  ] as const)
    expect(() => of(`--watch-namespaces=${text}`)).toThrow(
      `--watch-namespaces has "${wrong}"; it must be 1 to 50 names of namespaces with commas between them, such as shop,billing`,
    );
  const names = (count: number) => Array.from({ length: count }, (_, number) => `ns-${number}`).join(",");
  expect(of(`--watch-namespaces=${names(50)}`)).toHaveLength(50);
  expect(of(`--watch-namespaces=${names(16)}`, "--shards=3")).toHaveLength(16);
  expect(() => of(`--watch-namespaces=${names(17)}`, "--shards=3")).toThrow(
    "--watch-namespaces has 17 names; with --shards 3 it may have at most 16",
  );
  expect(() => of(`--watch-namespaces=${names(51)}`)).toThrow("--watch-namespaces has 51 names; it must be 1 to 50");
});

test("an unknown log level is refused", () => {
  expect(() => readFlags(["--log-level", "loud"], {})).toThrow(/--log-level is loud; it must be one of .*info/);
});

test("an unknown flag is refused with the help", () => {
  expect(() => readFlags(["--worker=1"], {})).toThrow(/--worker[\s\S]*Usage: operator/);
});
