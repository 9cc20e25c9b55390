import assert from "node:assert/strict";
import { beforeEach, describe, test } from "vitest";
import type { DowngradeAction } from "#etcd/client.ts";
import { refusalOf } from "#etcd/error.ts";
import type { Disk, ListedMember } from "#kit/world/disk.ts";
import { downgrade } from "#kit/world/downgrade.ts";
import { Etcd, type Process, type StartFlags } from "#kit/world/etcd.ts";
import { Random } from "#kit/world/random.ts";
import { whyNotAdd, whyNotPromote, whyNotRemove } from "#kit/world/reconfiguration.ts";
import { PLAIN } from "#kit/world/tls.ts";

// Refusals of the simulated etcd, by the sources that world-reconfiguration.ts names.

const LIST = new Map(["db-0", "db-1", "db-2"].map((name) => [name, `http://${name}:2380`]));
let nowMs = 0;
let etcd: Etcd;
let members: Process[];
let disks: Disk[];

function start(n: number, more: Partial<StartFlags> = {}): Process | string {
  const name = `db-${n}`;
  const flags = {
    name,
    peerUrl: `http://${name}:2380`,
    initialCluster: LIST,
    isNew: true,
    token: "t",
    version: "3.6.16",
    ...more,
  };
  disks[n] ??= { id: name, data: undefined, heldBy: undefined };
  return etcd.start({ uid: name, address: `10.0.0.${n}`, clusterUid: undefined, speeches: PLAIN }, disks[n], flags);
}

function running(n: number): Process {
  const process = start(n);
  assert.ok(typeof process !== "string", String(process));
  return process;
}

function leader(): Process {
  const [first] = members;
  assert.ok(first !== undefined);
  return first;
}

function member(n: number): Process {
  return members[n] ?? assert.fail();
}

function add(peerUrl: string, isLearner: boolean): ListedMember {
  const added = { id: etcd.newMemberId(), name: "", isAnnounced: false, peerUrl, isLearner };
  assert.ok(etcd.change(leader(), { term: leader().data.term, is: "add", member: added }));
  return added;
}

beforeEach(() => {
  nowMs = 0;
  const random = new Random(1);
  etcd = new Etcd({ isStrict: true, random, nowMs: () => nowMs, happened: () => undefined, tell: () => undefined });
  disks = [];
  members = [0, 1, 2].map((n) => running(n));
  etcd.elect(leader());
  for (const each of members) etcd.publish(each);
  nowMs = 10_000;
});

describe("simulated etcd, MemberAdd:", () => {
  const learner = { isLearner: true, peerUrl: "http://db-3:2380" };

  test("a learner is accepted when the voters have been connected for five seconds", () => {
    assert.equal(whyNotAdd(etcd, leader(), learner), undefined);
    assert.equal(whyNotAdd(etcd, member(1), learner), undefined);
  });

  test("a learner is refused until enough voters have been connected for five seconds", () => {
    etcd.stop("db-1");
    assert.equal(whyNotAdd(etcd, leader(), learner), "Unhealthy"); // Two of the four future members would be connected.
    running(1);
    nowMs += 4_999;
    assert.equal(whyNotAdd(etcd, leader(), learner), "Unhealthy");
    nowMs += 2;
    assert.equal(whyNotAdd(etcd, leader(), learner), undefined);
  });

  test("without a leader the check uses the dialled member's connections and not the raft log", () => {
    add(learner.peerUrl, true);
    for (const each of members) each.leaderId = undefined;
    assert.equal(whyNotAdd(etcd, leader(), learner), undefined);
    etcd.stop("db-1");
    etcd.stop("db-2");
    assert.equal(whyNotAdd(etcd, leader(), learner), "Unhealthy");
  });

  test("a second learner and a second member with the same URL are refused", () => {
    add(learner.peerUrl, true);
    assert.equal(whyNotAdd(etcd, leader(), learner), "PeerURLExist");
    assert.equal(whyNotAdd(etcd, leader(), { ...learner, peerUrl: "http://db-4:2380" }), "TooManyLearners");
  });
});

describe("simulated etcd, MemberRemove:", () => {
  test("a removal is accepted only if enough members stay connected", () => {
    const [, second, third] = members.map(({ data }) => data.memberId);
    assert.ok(second !== undefined && third !== undefined);
    assert.equal(whyNotRemove(etcd, leader(), third), undefined);
    etcd.stop("db-2");
    assert.equal(whyNotRemove(etcd, leader(), third), undefined);
    assert.equal(whyNotRemove(etcd, leader(), second), "Unhealthy");
  });

  test("a removal is refused when too few started voters would remain", () => {
    add("http://own-1:2380", false);
    add("http://own-2:2380", false);
    assert.equal(whyNotRemove(etcd, leader(), leader().data.memberId), "MemberNotEnoughStarted");
  });
});

test("simulated etcd, MemberPromote: a voter and a learner that lags are refused", () => {
  const { id } = add("http://db-3:2380", true);
  assert.equal(whyNotPromote(etcd, leader(), id), "LearnerNotReady");
  assert.equal(whyNotPromote(etcd, leader(), member(1).data.memberId), "MemberNotLearner");
});

describe("simulated etcd: an initial member that has lost its disk", () => {
  test("does not start, because other members report that it has been bootstrapped", () => {
    etcd.empty(disks[2] ?? assert.fail());
    assert.match(String(start(2)), /has already been bootstrapped/);
  });

  test("bootstraps again when no other member is reachable", () => {
    etcd.empty(disks[2] ?? assert.fail());
    for (const each of members.slice(0, 2)) etcd.cutOff(each, true);
    assert.notEqual(typeof start(2), "string");
  });

  test("bootstraps again when it had never published its name", () => {
    etcd.truth.of(leader().data.clusterId).announced.delete(member(2).data.memberId);
    etcd.empty(disks[2] ?? assert.fail());
    assert.notEqual(typeof start(2), "string");
  });
});

test("simulated etcd: a removed member does not start again, even with an empty disk", () => {
  const { memberId, clusterId } = member(2).data;
  etcd.change(leader(), { term: leader().data.term, is: "remove", id: memberId });
  assert.ok(etcd.truth.of(clusterId).removed.has(memberId));
  assert.match(String(start(2)), /permanently removed/);
  // The others do not list the member, so they do not report that it has been bootstrapped.
  etcd.empty(disks[2] ?? assert.fail());
  assert.match(String(start(2)), /permanently removed/);
});

describe("simulated etcd: a downgrade", () => {
  /** Refusal of the member as the operator receives it; undefined when the request succeeds. */
  const asked = (action: DowngradeAction, to: string, of = leader()): string | undefined => {
    try {
      downgrade(etcd, leader(), of, action, to);
      return undefined;
    } catch (thrown) {
      return refusalOf(thrown) ?? String(thrown);
    }
  };
  /** Lets time pass, in which each member replicates. */
  const passes = () => {
    for (let n = 0; n < 20; n++) etcd.replicate(leader());
  };
  const cluster = () => etcd.truth.of(leader().data.clusterId);
  const again = (n: number, version: string) => {
    etcd.stop(`db-${n}`);
    return start(n, { version });
  };

  beforeEach(() => passes());

  test("is accepted only to the previous minor, and only while no other downgrade runs", () => {
    assert.equal(asked("VALIDATE", "3.4"), "InvalidDowngradeTargetVersion");
    assert.equal(asked("VALIDATE", "3.6"), "InvalidDowngradeTargetVersion");
    assert.equal(asked("VALIDATE", "3.5"), undefined);
    assert.equal(cluster().downgradeTo, undefined);
    assert.equal(asked("ENABLE", "3.5"), undefined);
    assert.equal(asked("ENABLE", "3.5"), "DowngradeInProcess");
  });

  test("lets members start with the previous minor when all members have applied the downgrade", () => {
    assert.match(String(again(2, "3.5.35")), /invalid downgrade/);
    running(2);
    asked("ENABLE", "3.5");
    assert.match(String(again(2, "3.5.35")), /invalid downgrade/);
    passes();
    assert.equal(cluster().minor, 6); // One member is down.
    running(2);
    passes();
    assert.equal(cluster().minor, 5);
    assert.equal(typeof again(2, "3.5.35"), "object");
  });

  test("prevents new members from joining until it is cancelled", () => {
    asked("ENABLE", "3.5");
    const joining = new Map([...LIST, ["db-3", "http://db-3:2380"]]);
    add("http://db-3:2380", true);
    const flags = { isNew: false, initialCluster: joining };
    assert.match(String(start(3, flags)), /incompatible/);
    asked("CANCEL", "");
    assert.equal(typeof start(3, flags), "object");
  });

  test("is ended by a cancel, and the cluster version rises when all members are upgraded", () => {
    asked("ENABLE", "3.5");
    passes();
    for (const n of [2, 1]) again(n, "3.5.35");
    passes();
    assert.equal(cluster().downgradeTo, 5);
    const old = [...etcd.processes.values()].find(({ version }) => version === "3.5.35") ?? assert.fail();
    assert.match(String(asked("CANCEL", "", old)), /timed out/);
    assert.equal(cluster().downgradeTo, undefined);
    passes();
    assert.equal(cluster().minor, 5);
    for (const n of [2, 1]) again(n, "3.6.16");
    passes();
    assert.equal(cluster().minor, 6);
  });
});
