import { expect, test } from "vitest";
import { awaitingCluster, awaitingEtcd, awaitingName } from "#access/waits.ts";
import { USER_FINALIZER } from "#api/names.ts";
import { absent, present, unknown } from "#base/observed.ts";
import { etcdOf, etcdUser } from "#kit/snapshots/access.ts";

/** EtcdUser app, which has not created its user yet. */
const claim = {
  ...({ kind: "EtcdUser", object: etcdUser({ claimed: false }), name: "app", finalizer: USER_FINALIZER } as const),
  ...{ cluster: etcdOf(), elder: undefined, found: absent },
};

test("a missing EtcdCluster is awaited", () => {
  expect(awaitingCluster(claim)).toBeUndefined();
  expect(awaitingCluster({ ...claim, cluster: undefined })).toMatchObject({ next: "wait", recheckAfterMs: 60_000 });
});

test("the first missing answer of etcd is awaited", () => {
  expect(awaitingEtcd(present(1), absent)).toBeUndefined();
  const waiting = awaitingEtcd(present(1), unknown("it is away"), unknown("it is late"));
  expect(waiting).toMatchObject({
    because: "etcd's users and roles could not be read: it is away",
    recheckAfterMs: 10_000,
  });
});

test("a name that another object has is awaited with a warning", () => {
  expect(awaitingName(claim)).toBeUndefined();
  expect(awaitingName({ ...claim, found: present([]) })).toMatchObject({
    next: "wait",
    warn: true,
    recheckAfterMs: 60_000,
  });
});
