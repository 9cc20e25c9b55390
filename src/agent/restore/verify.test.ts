import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, test } from "vitest";
import { OperatorError } from "#base/error.ts";
import { REFUSAL_TEXTS } from "#etcd/error.ts";
import { clusterId, type EndpointStatus, memberId } from "#etcd/types.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { asAgentError } from "../copy.ts";
import type { Expectation } from "./expectation.ts";
import { type VerifyParts, verifyRestored } from "./verify.ts";

const PATIENCE_MS = 60_000;
const hashKV = { hash: 7, compactRevision: "4" };
const expected: Expectation = {
  key: "db.db",
  host: "pod",
  revision: "9",
  sha256: "ab",
  manifest: { revision: "8", keys: 3, hashKV },
};

const leaderId = memberId(1n);
const status = { clusterId: clusterId(1n), memberId: leaderId, leaderId } as EndpointStatus;
const away = new OperatorError("EtcdUnavailable", "Status at m:2379: connection refused");
const compacted = new OperatorError("EtcdRejected", "Range at m:2379: compacted", {
  cause: new ConnectError(REFUSAL_TEXTS.Compacted, Code.OutOfRange),
});

type Source = VerifyParts["source"];

/** A member with the expected data, except for this. */
function memberWith(change: Partial<Source> = {}): Source {
  return {
    address: "m:2379",
    status: () => Promise.resolve(status),
    revision: () => Promise.resolve(9n),
    keys: (revision) => Promise.resolve(revision === 8n ? 3 : 5),
    hashKV: () => Promise.resolve({ hash: 7, compactRevision: 4n }),
    ...change,
  };
}

/** Time passes by sleeping. */
async function run(change: Partial<Source> = {}, what = expected, signal = new AbortController().signal) {
  const clock = new FakeClock();
  const verifying = verifyRestored(what, { source: memberWith(change), clock, signal, patienceMs: PATIENCE_MS });
  let isDone = false;
  const end = () => {
    isDone = true;
  };
  verifying.then(end, end);
  while (!isDone) await clock.advance(1_000);
  return await verifying;
}

async function failure(...args: Parameters<typeof run>): Promise<string> {
  const thrown = await run(...args).then(
    () => assert.fail("it was verified"),
    (thrown: unknown) => asAgentError(thrown),
  );
  return `${thrown.reason}: ${thrown.message}`;
}

/** Answers in turn; the last one repeats. */
function inTurn<T>(...answers: readonly (T | Error)[]): () => Promise<T> {
  let turn = 0;
  return () => {
    const answer = answers[Math.min(turn++, answers.length - 1)]!;
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
}

describe("verifying a temporary etcd", () => {
  test("passes when keys and hash match the manifest", async () => {
    assert.deepEqual(await run(), {
      revision: "8",
      keys: 3,
      hash: 7,
      message: "etcd starts with it and has all 3 keys of revision 8, with the manifest's hash",
    });
  });

  test("waits until etcd serves", async () => {
    const { leaderId: _, ...leaderless } = status;
    const starting = inTurn<EndpointStatus>(away, { ...leaderless, leaderId: undefined }, status);
    assert.equal((await run({ status: starting })).hash, 7);
  });

  test("fails with etcd's address when etcd does not start", async () => {
    assert.match(await failure({ status: inTurn<EndpointStatus>(away) }), /^SourceUnreachable: .*connection refused/);
    const alone = inTurn<EndpointStatus>({ ...status, leaderId: undefined });
    assert.match(await failure({ status: alone }), /^NoQuorum: m:2379 knows no leader/);
  });

  test("fails with the difference when the data differs", async () => {
    assert.match(
      await failure({ revision: inTurn(8n) }),
      /^VerificationFailed: .*db\.db.* is at revision 8, .* had 9$/,
    );
    assert.match(await failure({ keys: inTurn(2) }), /^VerificationFailed: .* has 2 keys at revision 8, .* has 3$/);
    const hash = inTurn({ hash: 6, compactRevision: 4n });
    assert.match(await failure({ hashKV: hash }), /^VerificationFailed: .*hash up to revision 8 is 6, .* has 7$/);
  });

  test("waits until etcd has finished its compaction", async () => {
    const first = { hash: 1, compactRevision: 2n };
    assert.equal((await run({ hashKV: inTurn(first, first, { hash: 7, compactRevision: 4n }) })).hash, 7);
    const never = await run({ hashKV: inTurn(first) });
    assert.ok(never.hash === undefined && /which changes hashes/.test(never.message));
  });

  test("compares what it can when etcd was compacted further", async () => {
    for (const hash of [inTurn({ hash: 1, compactRevision: 5n }), inTurn<never>(compacted)]) {
      const { keys, hash: none, message } = await run({ hashKV: hash });
      assert.deepEqual([keys, none], [3, undefined]);
      assert.match(message, /all 3 keys of revision 8; etcd was compacted while the backup was made/);
    }
    const keys: Source["keys"] = (revision) => (revision === 8n ? Promise.reject(compacted) : Promise.resolve(5));
    const alone = await run({ keys });
    assert.deepEqual([alone.revision, alone.keys, alone.hash], ["9", 5, undefined]);
    assert.match(alone.message, /has 5 keys; the keys of .*revision 8 were compacted/);
  });

  test("passes with a message about what could not be compared", async () => {
    const message = async (manifest?: Expectation["manifest"]) =>
      (
        await run(
          {},
          manifest === undefined
            ? { key: "db.db", host: "pod", revision: "9", sha256: "ab" }
            : { ...expected, manifest },
        )
      ).message;
    assert.match(await message(), /has 5 keys; without a manifest/);
    assert.match(await message({ revision: "8" }), /has 5 keys; its manifest has no number of keys/);
    assert.match(await message({ revision: "8", keys: 3 }), /all 3 keys of revision 8; the manifest has no hash/);
  });

  test("fails with the request's error, not with VerificationFailed, when etcd does not answer", async () => {
    assert.match(await failure({ keys: inTurn<never>(away) }), /^SourceUnreachable: /);
    assert.match(await failure({ hashKV: inTurn<never>(away) }), /^SourceUnreachable: /);
    const cancelled = new OperatorError("Cancelled", "stop");
    assert.match(await failure({ status: inTurn<EndpointStatus>(cancelled) }), /^Stopped: /);
  });
});
