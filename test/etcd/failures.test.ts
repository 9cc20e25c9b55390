import assert from "node:assert/strict";
import { connect, createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, describe, test } from "vitest";
import { hasCode } from "#base/error.ts";
import type { CallOptions } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { refusalOf } from "#etcd/error.ts";
import { raiseCorrupt } from "#kit/e2e/load-accidents.ts";
import { ETCD_VERSIONS, neverAborted, type RunningEtcd, startEtcd, until } from "#kit/etcd/etcd.ts";

const options: CallOptions = { signal: neverAborted };
const unavailable = (thrown: unknown) => hasCode(thrown, "EtcdUnavailable");

describe.each(ETCD_VERSIONS)("when etcd %s does not answer", (version) => {
  let etcd: RunningEtcd;
  beforeAll(async () => {
    // 16 MiB is the smallest quota in which a value of 1 MiB fits more than once.
    etcd = await startEtcd({ version, members: 1, extraArgs: ["--quota-backend-bytes=16777216"] });
  });
  afterAll(() => etcd.stop());
  const only = () => etcd.members[0]!;

  test("a call to a frozen member fails at its deadline, and succeeds when the member runs again", async () => {
    await etcd.client.status(only().endpoint, options);
    await only().freeze();
    try {
      const startedAtMs = performance.now();
      await assert.rejects(etcd.client.status(only().endpoint, { ...options, deadlineMs: 500 }), unavailable);
      const tookMs = performance.now() - startedAtMs;
      assert.ok(tookMs >= 490 && tookMs < 1_500, `took ${tookMs} ms of 500`);
      // The frozen process still accepts connections: a new one must not hang longer than the old one.
      await assert.rejects(etcd.client.status(only().endpoint, { ...options, deadlineMs: 200 }), unavailable);
      const seen = await etcd.client.probe(only().endpoint, { ...options, deadlineMs: 200 });
      assert.ok(seen.is === "unknown" && seen.why.startsWith("Status at 127.0.0.1:"));
    } finally {
      only().thaw();
    }
    await etcd.client.status(only().endpoint, options);
  });

  test("the caller's abort signal ends the call at once with Cancelled", async () => {
    await only().freeze();
    try {
      const startedAtMs = performance.now();
      const signal = AbortSignal.timeout(100);
      await assert.rejects(etcd.client.probe(only().endpoint, { signal, deadlineMs: 5_000 }), (thrown) =>
        hasCode(thrown, "Cancelled"),
      );
      assert.ok(performance.now() - startedAtMs < 1_500);
    } finally {
      only().thaw();
    }
  });

  test("a call to a port without a listener fails at once as unavailable", async () => {
    const nobody: Endpoint = { address: `127.0.0.1:${(await etcd.spare("nobody")).plan.clientPort}` };
    const startedAtMs = performance.now();
    await assert.rejects(etcd.client.status(nobody, options), unavailable);
    assert.ok(performance.now() - startedAtMs < 1_000);
  });

  test("a call to a port with another protocol fails as unavailable", async () => {
    const metrics: Endpoint = { address: `127.0.0.1:${only().plan.metricsPort}` };
    await assert.rejects(etcd.client.status(metrics, options), unavailable);
  });

  test("a call with a past deadline fails before anything is sent", async () => {
    await assert.rejects(etcd.client.put(only().endpoint, "late", "x", { ...options, deadlineMs: 0 }), unavailable);
    assert.equal(await etcd.client.get(only().endpoint, "late", options), undefined);
  });

  test("a connection without answers is replaced after one deadline", async () => {
    const silencer = await startSilencer(only().plan.clientPort);
    const endpoint: Endpoint = { address: `127.0.0.1:${silencer.port}` };
    try {
      await etcd.client.status(endpoint, options);
      silencer.silence();
      await assert.rejects(etcd.client.status(endpoint, { ...options, deadlineMs: 300 }), unavailable);
      await etcd.client.status(endpoint, { ...options, deadlineMs: 300 });
    } finally {
      etcd.pool.close(endpoint.address);
      silencer.stop();
    }
  });

  test("an open call fails as unavailable when the connections of its member are closed", async () => {
    await only().freeze();
    try {
      const open = etcd.client.status(only().endpoint, { ...options, deadlineMs: 5_000 });
      const failed = assert.rejects(open, unavailable);
      setTimeout(() => etcd.pool.close(only().endpoint.address), 100);
      const startedAtMs = performance.now();
      await failed;
      assert.ok(performance.now() - startedAtMs < 1_500);
    } finally {
      only().thaw();
    }
  });

  test("a member that was killed and restarted is reached again", async () => {
    await etcd.client.put(only().endpoint, "kept", "yes", options);
    await only().kill();
    await assert.rejects(etcd.client.status(only().endpoint, options), unavailable);
    await only().start({ initialCluster: etcd.initialCluster, state: "new" }, ["--quota-backend-bytes=16777216"]);
    await until("the key is read again", async () => {
      try {
        return (await etcd.client.get(only().endpoint, "kept", options)) !== undefined;
      } catch {
        return false; // not up yet
      }
    });
  });

  test("a full database refuses writes and raises an alarm that can be disarmed", async () => {
    const value = new Uint8Array(1024 ** 2);
    let refused: unknown;
    for (let written = 0; written < 64 && refused === undefined; written++) {
      refused = await etcd.client.put(only().endpoint, `fill/${written}`, value, options).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
    }
    assert.ok(hasCode(refused, "EtcdRejected"));
    assert.equal(refusalOf(refused), "NoSpace");
    const status = await etcd.client.status(only().endpoint, options);
    assert.deepEqual(status.alarms, [{ memberId: status.memberId, type: "NOSPACE" }]);
    const alarms = await etcd.client.alarms(only().endpoint, options);
    assert.deepEqual(alarms, [{ memberId: status.memberId, type: "NOSPACE" }]);
    await etcd.client.disarmAlarm(only().endpoint, alarms[0]!, options);
    assert.deepEqual(await etcd.client.alarms(only().endpoint, options), []);
  });

  test("a CORRUPT alarm names the member with corrupt data, or none when etcd cannot identify it", async () => {
    const { memberId } = await etcd.client.status(only().endpoint, options);
    for (const id of [memberId, undefined]) {
      await raiseCorrupt(only().endpoint.address, `${id ?? 0}`);
      const corrupt = { memberId: id, type: "CORRUPT" } as const;
      assert.deepEqual((await etcd.client.status(only().endpoint, options)).alarms, [corrupt]);
      assert.deepEqual(await etcd.client.alarms(only().endpoint, options), [corrupt]);
      await etcd.client.disarmAlarm(only().endpoint, corrupt, options);
      assert.deepEqual((await etcd.client.status(only().endpoint, options)).alarms, []);
    }
  });
});

interface Silencer {
  readonly port: number;
  /** From now on no byte passes on the open connections; new ones work. */
  silence(): void;
  stop(): void;
}

/** Forwards connections to a local port, like a network that can lose the packets of some of them. */
async function startSilencer(targetPort: number): Promise<Silencer> {
  const pairs: Socket[][] = [];
  const server: Server = createServer((near) => {
    const far = connect(targetPort, "127.0.0.1");
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) socket.on("error", () => socket.destroy());
    pairs.push([near, far]);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port");
  return {
    port: address.port,
    silence() {
      for (const socket of pairs.flat()) socket.unpipe().pause();
    },
    stop() {
      for (const socket of pairs.flat()) socket.destroy();
      server.close();
    },
  };
}
