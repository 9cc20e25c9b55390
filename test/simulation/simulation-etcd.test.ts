import assert from "node:assert/strict";
import { beforeEach, describe, test } from "vitest";
import type { DowngradeAction } from "#etcd/client.ts";
import { refusalOf } from "#etcd/error.ts";
import type { Disk, ListedMember } from "#kit/world-disk.ts";
import { downgrade } from "#kit/world-downgrade.ts";
import { Etcd, type Process, type StartFlags } from "#kit/world-etcd.ts";
import { Random } from "#kit/world-random.ts";
import { whyNotAdd, whyNotPromote, whyNotRemove } from "#kit/world-reconfiguration.ts";
import { PLAIN } from "#kit/world-tls.ts";

// What the simulated etcd refuses, by the sources that world-reconfiguration.ts names.

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

describe("MemberAdd", () => {
  const learner = { isLearner: true, peerUrl: "http://db-3:2380" };

  test("a learner is added to voters that have been connected for five seconds", () => {
    assert.equal(whyNotAdd(etcd, leader(), learner), undefined);
    assert.equal(whyNotAdd(etcd, member(1), learner), undefined);
  });

  test("nobody is added while too few have been", () => {
    etcd.stop("db-1");
    assert.equal(whyNotAdd(etcd, leader(), learner), "Unhealthy"); // two of the four there would be
    running(1);
    nowMs += 4_999;
    assert.equal(whyNotAdd(etcd, leader(), learner), "Unhealthy");
    nowMs += 2;
    assert.equal(whyNotAdd(etcd, leader(), learner), undefined);
  });

  test("without a leader it is refused for what the asked member sees, and for nothing that only the log knows", () => {
    add(learner.peerUrl, true);
    for (const each of members) each.leaderId = undefined;
    assert.equal(whyNotAdd(etcd, leader(), learner), undefined);
    etcd.stop("db-1");
    etcd.stop("db-2");
    assert.equal(whyNotAdd(etcd, leader(), learner), "Unhealthy");
  });

  test("there is one learner at most, and one member of a URL", () => {
    add(learner.peerUrl, true);
    assert.equal(whyNotAdd(etcd, leader(), learner), "PeerURLExist");
    assert.equal(whyNotAdd(etcd, leader(), { ...learner, peerUrl: "http://db-4:2380" }), "TooManyLearners");
  });
});

describe("MemberRemove", () => {
  test("one of three that are well may go, and one that is down, and the second of two that are up may not", () => {
    const [, second, third] = members.map(({ data }) => data.memberId);
    assert.ok(second !== undefined && third !== undefined);
    assert.equal(whyNotRemove(etcd, leader(), third), undefined);
    etcd.stop("db-2");
    assert.equal(whyNotRemove(etcd, leader(), third), undefined);
    assert.equal(whyNotRemove(etcd, leader(), second), "Unhealthy");
  });

  test("a voter that has not started counts as not there", () => {
    add("http://own-1:2380", false);
    add("http://own-2:2380", false);
    assert.equal(whyNotRemove(etcd, leader(), leader().data.memberId), "MemberNotEnoughStarted");
  });
});

test("MemberPromote: only a learner, and only one that has caught up", () => {
  const { id } = add("http://db-3:2380", true);
  assert.equal(whyNotPromote(etcd, leader(), id), "LearnerNotReady");
  assert.equal(whyNotPromote(etcd, leader(), member(1).data.memberId), "MemberNotLearner");
});

describe("a founder that has lost its disk", () => {
  test("has been bootstrapped, as the others know", () => {
    etcd.empty(disks[2] ?? assert.fail());
    assert.match(String(start(2)), /has already been bootstrapped/);
  });

  test("starts over when nobody can be asked", () => {
    etcd.empty(disks[2] ?? assert.fail());
    for (const each of members.slice(0, 2)) etcd.cutOff(each, true);
    assert.notEqual(typeof start(2), "string");
  });

  test("starts over when it never announced itself", () => {
    etcd.truth.of(leader().data.clusterId).announced.delete(member(2).data.memberId);
    etcd.empty(disks[2] ?? assert.fail());
    assert.notEqual(typeof start(2), "string");
  });
});

test("a member that was removed has been removed for good", () => {
  const { memberId, clusterId } = member(2).data;
  etcd.change(leader(), { term: leader().data.term, is: "remove", id: memberId });
  assert.ok(etcd.truth.of(clusterId).removed.has(memberId));
  assert.match(String(start(2)), /permanently removed/);
  etcd.empty(disks[2] ?? assert.fail()); // the others do not list it, so they do not say that it has been bootstrapped
  assert.match(String(start(2)), /permanently removed/);
});

describe("a downgrade", () => {
  /** What the member says to the question, as the operator would hear it; nothing when it does what is asked. */
  const asked = (action: DowngradeAction, to: string, of = leader()): string | undefined => {
    try {
      downgrade(etcd, leader(), of, action, to);
      return undefined;
    } catch (thrown) {
      return refusalOf(thrown) ?? String(thrown);
    }
  };
  /** Time passes, and each does what it does now and then. */
  const passes = () => {
    for (let n = 0; n < 20; n++) etcd.replicate(leader());
  };
  const cluster = () => etcd.truth.of(leader().data.clusterId);
  const again = (n: number, version: string) => {
    etcd.stop(`db-${n}`);
    return start(n, { version });
  };

  beforeEach(() => passes());

  test("leads one minor back, and only one at a time", () => {
    assert.equal(asked("VALIDATE", "3.4"), "InvalidDowngradeTargetVersion");
    assert.equal(asked("VALIDATE", "3.6"), "InvalidDowngradeTargetVersion");
    assert.equal(asked("VALIDATE", "3.5"), undefined);
    assert.equal(cluster().downgradeTo, undefined);
    assert.equal(asked("ENABLE", "3.5"), undefined);
    assert.equal(asked("ENABLE", "3.5"), "DowngradeInProcess");
  });

  test("lets members start with the minor before, once it has come to all of them", () => {
    assert.match(String(again(2, "3.5.35")), /invalid downgrade/);
    running(2);
    asked("ENABLE", "3.5");
    assert.match(String(again(2, "3.5.35")), /invalid downgrade/);
    passes();
    assert.equal(cluster().minor, 6); // one is away
    running(2);
    passes();
    assert.equal(cluster().minor, 5);
    assert.equal(typeof again(2, "3.5.35"), "object");
  });

  test("lets nobody in meanwhile", () => {
    asked("ENABLE", "3.5");
    const joining = new Map([...LIST, ["db-3", "http://db-3:2380"]]);
    add("http://db-3:2380", true);
    const flags = { isNew: false, initialCluster: joining };
    assert.match(String(start(3, flags)), /incompatible/);
    asked("CANCEL", "");
    assert.equal(typeof start(3, flags), "object");
  });

  test("is over when all run the minor before, or when somebody cancels it: then the cluster goes forth with the last of them", () => {
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
