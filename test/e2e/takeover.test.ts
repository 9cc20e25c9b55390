import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AuditedRequest, AuditLog, isLease, isRead } from "#kit/e2e/audit-log.ts";
import { eventually, instance } from "#kit/e2e/e2e.ts";
import type { Faults } from "#kit/sweeps/operator-faults.ts";
import {
  leaseHolder,
  OperatorProcess,
  operatorNamespace,
  untilSaid,
  withoutDeployedOperator,
} from "#kit/sweeps/operator-process.ts";
import { World } from "#kit/sweeps/operator-world.ts";

// Several operators run; only the holder of the lease acts. The API server's audit log shows which one wrote, by user
// agent.

/** Promised from the death of the leader to the first action of the next one. */
const AFTER_DEATH_MS = 20_000;
/** Promised from a graceful stop of the leader. */
const AFTER_STOP_MS = 3_000;

let deployed: AsyncDisposable;

beforeAll(async () => {
  deployed = await withoutDeployedOperator();
});

afterAll(async () => {
  await deployed[Symbol.asyncDispose]();
});

/** From thawing without the lease, including the graceful stop of 10 s. */
const ENDS_WITHIN_MS = 30_000;

function operator(world: World, userAgent: string, faults: Partial<Faults> = {}): OperatorProcess {
  return new OperatorProcess(world.namespace, { namespace: world.namespace, userAgent, ...faults });
}

async function leads(process: OperatorProcess): Promise<void> {
  await untilSaid(process, "this process leads: at work");
}

async function standsBy(process: OperatorProcess): Promise<void> {
  await untilSaid(process, '"started"');
}

/** Waits until the fault has frozen the process. Members may have to start first. */
async function untilFrozen(process: OperatorProcess): Promise<void> {
  const look = () => (process.isFrozen ? Promise.resolve() : Promise.reject(new Error("the leader is not frozen yet")));
  await eventually(look);
}

/** Deletes a Service, which the leader recreates. @returns when it existed again, in milliseconds from the call */
async function untilServiceRecreated(world: World, deadlineMs: number): Promise<number> {
  const startedAtMs = performance.now();
  await world.kubectl("delete", "service", "my-etcd-client", "--ignore-not-found");
  await eventually(() => world.kubectl("get", "service", "my-etcd-client"), deadlineMs);
  return performance.now() - startedAtMs;
}

function auditLog(): AuditLog {
  return new AuditLog(join(instance.logs, "audit.log"));
}

/** Changes that were sent with this user agent, including refused ones. */
async function writesBy(audit: AuditLog, userAgent: string): Promise<readonly AuditedRequest[]> {
  return (await audit.requestsOf(userAgent)).filter((request) => !isRead(request));
}

test("a second operator takes over within 20 s after a kill and within 3 s after a graceful stop", async () => {
  await using namespace = await operatorNamespace("takeover");
  const world = new World(namespace.name);
  const audit = auditLog();
  await using first = operator(world, "first");
  await leads(first);
  await using second = operator(world, "second");
  await standsBy(second);
  await world.create({ replicas: 1 });
  await world.untilReady();
  expect(await writesBy(audit, "second")).toEqual([]);
  expect((await writesBy(audit, "first")).filter((request) => !isLease(request))).not.toEqual([]);

  await first.signal("SIGKILL");
  const afterDeathMs = await untilServiceRecreated(world, AFTER_DEATH_MS);
  expect(afterDeathMs).toBeLessThan(AFTER_DEATH_MS);

  await using third = operator(world, "third");
  await standsBy(third);
  const [end, afterStopMs] = await Promise.all([
    second.signal("SIGTERM").then(() => second.end),
    untilServiceRecreated(world, AFTER_STOP_MS),
  ]);
  expect(end).toEqual({ code: 0, signal: null });
  expect(afterStopMs).toBeLessThan(AFTER_STOP_MS);
  await leads(third);
  console.log(`takeover: ${Math.round(afterDeathMs)} ms after a death, ${Math.round(afterStopMs)} ms after a stop`);
});

// These tests mostly wait for a lease, so they run concurrently.
const whenFrozen: readonly { name: string; when: Partial<Faults> }[] = [
  {
    name: "right after it has created a member",
    when: { freezeAfter: { write: "POST etcdpeers/my-etcd-0", nth: 1 } },
  },
  {
    name: "between its decision to create a claim and the request",
    when: { freezeBefore: { write: "POST persistentvolumeclaims/my-etcd-1", nth: 1 } },
  },
  {
    name: "between its decision to fence a member and the request",
    when: { freezeBefore: { write: "PUT etcdpeers/my-etcd-0", nth: 1 } },
  },
];

for (const { name, when } of whenFrozen) {
  test.concurrent(`a leader that freezes ${name} changes nothing after it has lost its lease, and ends`, async () => {
    await using namespace = await operatorNamespace("frozen");
    const world = new World(namespace.name);
    const audit = auditLog();
    const names = [`frozen-in-${namespace.name}`, `heir-in-${namespace.name}`] as const;
    await using frozen = operator(world, names[0], when);
    await leads(frozen);
    await using heir = operator(world, names[1]);
    await standsBy(heir);
    await world.create({ replicas: 3 });
    await untilFrozen(frozen);
    await leads(heir);
    await world.untilReady();
    expect(frozen.isFrozen).toBe(true);

    const holder = await leaseHolder(world.namespace);
    await frozen.signal("SIGCONT");
    expect(await frozen.endWithin(ENDS_WITHIN_MS)).toEqual({ code: 1, signal: null });
    const written = await untilWrittenDown(audit, names);
    const takenAtMs =
      written.find((request) => request.userAgent === names[1] && isLease(request) && !isRead(request))?.atMs ?? 0;
    expect(takenAtMs).toBeGreaterThan(0);
    const late = written.filter(({ userAgent, atMs }) => userAgent === names[0] && atMs >= takenAtMs);
    // The process may learn of the loss through a refused request for its lease. It must send nothing else, not even
    // events.
    expect(late.filter((request) => !isRead(request) && !(isLease(request) && request.code >= 300))).toEqual([]);
    expect(await leaseHolder(world.namespace)).toBe(holder);
    expect((await world.memberList()).members.length).toBe(3);
  });
}

/** Waits until the audit log has a later request, and so contains everything up to now. */
async function untilWrittenDown(audit: AuditLog, userAgents: readonly string[]): Promise<AuditedRequest[]> {
  const nowMs = Date.now();
  return await eventually(async () => {
    const written = await audit.requestsOf(...userAgents);
    if (!written.some(({ atMs }) => atMs > nowMs)) throw new Error("the audit log is not up to date yet");
    return written;
  });
}
