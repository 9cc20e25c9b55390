import { describe, expect, test } from "vitest";
import { PEER_TLS_VOLUME } from "#api/names.ts";
import { revisionOf } from "#api/revision.ts";
import { absent, present, unknown } from "#base/observed.ts";
import { certificatesIn } from "#certificates/pem.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { providerChanges } from "#cluster-tls/change/provider-change.ts";
import { dueOf } from "#cluster-tls/issue/due.ts";
import { orderOf } from "#cluster-tls/read/purposes.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import {
  bundle,
  goingTo,
  made,
  NEXT,
  OWN,
  running,
  secured,
  started,
  THEIRS,
  tlsSpec,
  unissued,
  withMade,
  withSeen,
} from "#kit/snapshots/cluster-tls.ts";
import { stageOf } from "#kit/snapshots/tls-stage.ts";
import { issuedBy } from "#kit/snapshots/tls-status.ts";
import type { Pod } from "#kube/kinds.ts";
import { memberTls } from "./member-tls.ts";

const settled = secured();
const own = bundle(OWN);

test("the TLS of the member template has the issued Secrets, the CAs and the options of spec.tls", () => {
  expect(memberTls(cluster())).toBeUndefined();
  expect(memberTls(unissued())).toBeUndefined();
  expect(memberTls(withMade(unissued({ stage: "recorded" }), { peer: {} }))).toEqual({
    peer: { secretName: "my-etcd-peer-tls", trust: own },
    minVersion: "TLS1.2",
  });
  const cipherSuites = ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"];
  const strict = secured(
    {},
    { peer: { provider: "None" }, client: { clientCertificates: "NotRequired" }, cipherSuites },
  );
  const { minVersion: _, ...plain } = tlsSpec({ client: { provider: "None" } });
  const inside = secured({}, { client: { provider: "None" } });
  const unfilled = { ...inside, cluster: { ...inside.cluster, spec: { ...inside.cluster.spec, tls: plain } } };
  expect(memberTls(unfilled as ClusterSnapshot)).toStrictEqual({
    peer: { secretName: "my-etcd-peer-tls", trust: own },
  });
  expect(memberTls(strict)).toStrictEqual({
    client: { secretName: "my-etcd-server-tls", trust: own, clientCertificates: "NotRequired" },
    minVersion: "TLS1.2",
    cipherSuites,
  });
});

test("the TLS object is identical while nothing changes, since template names are remembered by it", () => {
  expect(memberTls(settled)).toBe(settled.peers[0]!.spec.tls);
  expect(memberTls({ ...settled })).toBe(memberTls(settled));
});

describe("the TLS of running members is kept", () => {
  const kept: { name: string; given: () => ClusterSnapshot }[] = [
    { name: "a Secret is deleted", given: () => withSeen(settled, { peer: absent, server: absent }) },
    { name: "a Secret could not be read", given: () => withSeen(settled, { peer: unknown("no answer") }) },
    { name: "nothing was read", given: () => ({ ...settled, certificates: undefined }) },
    {
      name: "a certificate has no key",
      given: () => withMade(settled, { peer: { trouble: "it has no tls.key", by: NEXT } }),
    },
    {
      name: "a Secret belongs to another owner",
      given: () => withMade(settled, { peer: { isOurs: false, trust: bundle(OWN, NEXT) } }),
    },
  ];
  test.each(kept)("when $name", ({ given }) => {
    expect(memberTls(given())).toEqual(memberTls(settled));
  });

  test("when a certificate lacks a name that this operator release adds, until it is reissued", () => {
    const names = orderOf(settled.cluster, "server").names.filter((each) => !each.startsWith("my-etcd."));
    const earlier = withMade(settled, { server: { names, madeFor: "what the earlier release had asked for" } });
    expect(dueOf(earlier, "server")?.what).toBe("pair");
    expect(memberTls(earlier)).toBe(settled.peers[0]!.spec.tls);
    expect(dueOf(settled, "server")).toBeUndefined();
    expect(memberTls(withMade(earlier, { server: {} }))).toBe(settled.peers[0]!.spec.tls);
  });

  test("from the template of the update when members have different ones, or else from the most frequent", () => {
    const both = bundle(OWN, NEXT);
    const tls = { ...memberTls(settled)!, peer: { secretName: "my-etcd-peer-tls", trust: both } };
    const half = begin(settled).apply(running, ["my-etcd-2"], tls).apply(withSeen, { peer: absent }).snapshot;
    expect(memberTls(half)?.peer?.trust).toBe(own);
    const one = secured({ replicas: 1 });
    expect(memberTls(withSeen(one, { peer: absent }))).toEqual(memberTls(one));
    const most = begin(settled)
      .apply(running, ["my-etcd-1", "my-etcd-2"], tls)
      .apply(withSeen, { peer: absent }).snapshot;
    expect(memberTls(most)?.peer?.trust).toBe(both);
    const { status } = half.cluster;
    const update = { revision: revisionOf(half.peers[2]!.spec) } as NonNullable<typeof status>["update"];
    const updating = { ...half, cluster: { ...half.cluster, status: { ...status, update } } };
    expect(memberTls(updating as ClusterSnapshot)?.peer?.trust).toBe(both);
  });
});

describe("while several CAs are trusted, the template names the signer", () => {
  const both = bundle(OWN, NEXT);
  const added = withMade(settled, { peerCA: { next: NEXT }, peer: { trust: both } });
  const shown = { secretName: "my-etcd-peer-tls", trust: both };

  test("first the old CA, then the new CA", () => {
    expect(memberTls(added)?.peer).toStrictEqual({ ...shown, signer: OWN.id });
    const signed = begin(added)
      .apply(running)
      .apply(withMade, { peerCA: { by: NEXT, trust: both }, peer: { by: NEXT, trust: both } }).snapshot;
    expect(memberTls(signed)?.peer).toStrictEqual({ ...shown, signer: NEXT.id });
    expect(revisionOf(running(signed).peers[0]!.spec)).not.toBe(revisionOf(running(added).peers[0]!.spec));
    const dropped = begin(signed)
      .apply(running)
      .apply(withMade, { peerCA: { by: NEXT }, peer: { by: NEXT } }).snapshot;
    expect(memberTls(dropped)?.peer).toStrictEqual({ secretName: "my-etcd-peer-tls", trust: bundle(NEXT) });
    expect(memberTls(settled)?.peer).toStrictEqual({ secretName: "my-etcd-peer-tls", trust: own });
  });

  test("also for the first members", () => {
    const first = withMade(unissued({ stage: "recorded" }), { peer: { trust: both } });
    expect(memberTls(first)?.peer).toStrictEqual({ ...shown, signer: OWN.id });
  });

  test("also on the client side", () => {
    const clients = withMade(settled, { clientCA: { next: NEXT }, server: { trust: both } });
    expect(memberTls(clients)?.client).toStrictEqual({
      secretName: "my-etcd-server-tls",
      trust: both,
      signer: OWN.id,
      clientCertificates: "Required",
    });
  });

  test("while the Secret cannot be read", () => {
    const rotating = running(added);
    for (const peer of [absent, unknown("no answer")])
      expect(memberTls(withSeen(rotating, { peer }))?.peer).toStrictEqual({ ...shown, signer: OWN.id });
  });

  test("but not for user-provided certificates, because only the user knows when a rotation is complete", () => {
    const peer = { provider: "Secret", secret: { name: "their-peer" } };
    const brought = secured({}, { peer }, { isOurs: false, trust: both });
    expect(memberTls(brought)?.peer).toStrictEqual({ secretName: "their-peer", trust: both });
  });

  test("while members begin to trust an additional CA", () => {
    const peer = { provider: "Secret", secret: { name: "their-peer" } };
    const asked = begin(added)
      .apply(running)
      .apply(goingTo, { peer })
      .apply(withMade, { peer: { by: THEIRS, isOurs: false } }).snapshot;
    const all = bundle(OWN, NEXT, THEIRS);
    expect(stageOf(providerChanges(asked).peer)).toBe("AcceptBoth");
    expect(memberTls(asked)?.peer).toStrictEqual({ ...shown, trust: all, signer: OWN.id });
    const trusting = running(asked);
    expect(stageOf(providerChanges(trusting).peer)).toBe("UseNew");
    expect(memberTls(trusting)?.peer).toStrictEqual({ secretName: "their-peer", trust: all });
  });

  test("while applications change to the new CA, so that no member restarts for that", () => {
    const leaves = (given: object) => ({ server: given, operator: given, application: given });
    const trusting = begin(settled)
      .apply(withMade, { clientCA: { next: NEXT }, ...leaves({ trust: both }) })
      .apply(running).snapshot;
    const signed = withMade(trusting, { clientCA: { by: NEXT, trust: both }, ...leaves({ by: NEXT, trust: both }) });
    const dropped = begin(signed)
      .apply(running)
      .apply(withMade, { clientCA: { by: NEXT }, ...leaves({ by: NEXT }) }).snapshot;
    const early = withMade(dropped, { application: { by: NEXT, signerForMs: 149_999 } });
    expect(stageOf(providerChanges(early).client)).toBe("UseNew, members done");
    expect(memberTls(early)?.client).toStrictEqual(running(signed).peers[0]?.spec.tls?.client);
    expect(memberTls(early)?.client?.signer).toBe(NEXT.id);
    expect(memberTls(dropped)?.client?.trust).toBe(bundle(NEXT));
  });

  test("unless none of the trusted CAs signed the certificate", () => {
    const unsigned = present({ ...made(settled, "peer", { trust: both }), signerId: undefined });
    expect(memberTls(withSeen(settled, { peer: unsigned }))?.peer).toStrictEqual(shown);
  });
});

test("no member gets the bundle of a certificate that others do not trust", () => {
  const theirs = withMade(settled, { peer: { by: THEIRS } });
  expect(memberTls(theirs)?.peer).toEqual(memberTls(settled)?.peer);
  const told = withMade(settled, { peer: { trust: bundle(OWN, THEIRS) } });
  expect(memberTls(told)?.peer?.trust).toBe(bundle(OWN, THEIRS));
  const shown = begin(told)
    .apply(running)
    .apply(withMade, { peer: { by: THEIRS, trust: bundle(THEIRS) } }).snapshot;
  expect(memberTls(shown)?.peer?.trust).toBe(bundle(THEIRS));
});

describe("certificates of another provider", () => {
  const peer = { provider: "Secret", secret: { name: "their-peer" } };
  const spec = tlsSpec({ peer });
  const trustIn = (snapshot: ClusterSnapshot) => [...certificatesIn(memberTls(snapshot)!.peer!.trust)].sort();
  const nameIn = (snapshot: ClusterSnapshot) => memberTls(snapshot)?.peer?.secretName;
  const both = [...certificatesIn(bundle(OWN, THEIRS))].sort();

  /** Sets the Secret that each pod mounts. */
  function mounted(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
    const pods = [...snapshot.pods].map(([peerName, pod]) => {
      const sources = [{ secret: { name } }, { downwardAPI: { items: [] } }];
      const volumes = [{ name: "data" }, { name: PEER_TLS_VOLUME, projected: { sources } }];
      return [peerName, { ...pod, spec: { ...pod.spec, volumes } } as unknown as Pod] as const;
    });
    return { ...snapshot, pods: new Map(pods) };
  }

  test("are trusted by all members, then used by all, and then the old CA is dropped", () => {
    const asked = mounted(
      { ...settled, cluster: { ...settled.cluster, spec: { ...settled.cluster.spec, tls: spec } } },
      "my-etcd-peer-tls",
    );
    const given = withMade(asked, { peer: { by: THEIRS, isOurs: false } });
    expect([nameIn(given), trustIn(given)]).toEqual(["my-etcd-peer-tls", both]);

    const one = running(given, ["my-etcd-2"]);
    expect([nameIn(one), trustIn(one)]).toEqual(["my-etcd-peer-tls", both]);
    const written = { ...running(given), pods: one.pods };
    expect(nameIn(written)).toBe("my-etcd-peer-tls");

    const trusting = started(written);
    expect([nameIn(trusting), trustIn(trusting)]).toEqual(["their-peer", both]);
    const half = running(trusting, ["my-etcd-0", "my-etcd-1"]);
    expect([nameIn(half), trustIn(half)]).toEqual(["their-peer", both]);

    const all = mounted(running(half), "my-etcd-peer-tls");
    expect([nameIn(all), trustIn(all)]).toEqual(["their-peer", both]);
    const shown = mounted(all, "their-peer");
    expect([nameIn(shown), trustIn(shown)]).toEqual(["their-peer", [...certificatesIn(bundle(THEIRS))]]);
  });

  const named = (secretName: string) => tlsSpec({ peer: { provider: "Secret", secret: { name: secretName } } });
  const three = [...certificatesIn(bundle(OWN, THEIRS, NEXT))].sort();

  /** Another source is requested and missing; the certificates in use were read. */
  function asked(snapshot: ClusterSnapshot, secretName: string): ClusterSnapshot {
    const { cluster: live, certificates } = snapshot;
    const status = issuedBy(live.status, { peer: { provider: "Operator" } });
    const { peer, peerCA } = settled.certificates ?? {};
    const turned = { ...live, status, spec: { ...live.spec, tls: named(secretName) } };
    const previous = { ...certificates?.previous, peer: peer!, peerCA: peerCA! };
    return withSeen({ ...snapshot, cluster: turned, certificates: { ...certificates, previous } }, { peer: absent });
  }

  const trustingBoth = begin(asked(started(settled), "their-peer"))
    .apply(withMade, { peer: { by: THEIRS, isOurs: false } })
    .apply(running).snapshot;
  const halfWay = asked(running(trustingBoth, ["my-etcd-1", "my-etcd-2"]), "third-peer");
  const formerly = (snapshot: ClusterSnapshot, peer: Parameters<typeof withMade>[1]["peer"]): ClusterSnapshot => {
    const own = withMade(settled, peer === undefined ? {} : { peer }).certificates?.peer;
    const seen = peer === undefined ? absent : own;
    const { certificates } = snapshot;
    return { ...snapshot, certificates: { ...certificates, previous: { ...certificates?.previous, peer: seen! } } };
  };

  test("all members return to the first source when a third one is requested and missing", () => {
    expect(nameIn(running(trustingBoth, ["my-etcd-2"]))).toBe("their-peer");
    expect([nameIn(halfWay), trustIn(halfWay)]).toEqual(["my-etcd-peer-tls", both]);
    const all = asked(running(trustingBoth), "third-peer");
    expect([nameIn(all), trustIn(all)]).toEqual(["my-etcd-peer-tls", both]);
    expect(nameIn(running(halfWay))).toBe("my-etcd-peer-tls");
  });

  test("members trust an existing third source in the restart that returns them to the first", () => {
    const there = withMade(halfWay, { peer: { by: NEXT, isOurs: false } });
    expect([nameIn(there), trustIn(there)]).toEqual(["my-etcd-peer-tls", three]);
    const back = running(there);
    expect([nameIn(back), trustIn(back)]).toEqual(["third-peer", three]);
  });

  test("all members go on to the second source when the first is lost and the second is valid", () => {
    const second = (given: Parameters<typeof made>[2]) => {
      const lost = formerly(halfWay, undefined);
      const their = made(trustingBoth, "peer", { by: THEIRS, isOurs: false, ...given });
      return { ...lost, certificates: { ...lost.certificates, abandoned: { peer: present(their) } } };
    };
    // Most members use the first, and none could restart with it.
    const few = (given: ClusterSnapshot) => running(given, ["my-etcd-0", "my-etcd-1"], settled.peers[0]!.spec.tls);
    const trusting = (given: ClusterSnapshot) =>
      running(given, ["my-etcd-0", "my-etcd-1"], {
        ...given.peers[0]!.spec.tls!,
        peer: { secretName: "my-etcd-peer-tls", trust: bundle(OWN, THEIRS) },
      });
    expect(nameIn(few(second({})))).toBe("my-etcd-peer-tls");
    expect(nameIn(trusting(second({})))).toBe("their-peer");
    expect(nameIn(trusting(withMade(second({}), { peer: { by: NEXT, isOurs: false } })))).toBe("their-peer");
    for (const bad of [{ trouble: "it has no tls.key" }, { lastsMs: 0 }, { by: NEXT }])
      expect(nameIn(trusting(second(bad)))).toBe("my-etcd-peer-tls");
    const { abandoned: _, ...unread } = second({}).certificates;
    expect(nameIn(trusting({ ...second({}), certificates: unread }))).toBe("my-etcd-peer-tls");
  });

  test("a requested third source changes nothing when all members use the second and the first is lost", () => {
    const all = formerly(asked(running(trustingBoth), "third-peer"), undefined);
    const peer = { secretName: "their-peer", trust: bundle(OWN, THEIRS, NEXT) };
    const more = running(all, ["my-etcd-2"], { ...all.peers[0]!.spec.tls!, peer });
    const second = present(made(trustingBoth, "peer", { by: THEIRS, isOurs: false }));
    const given = { ...more, certificates: { ...more.certificates, abandoned: { peer: second } } };
    expect([nameIn(given), trustIn(given)]).toEqual(["their-peer", both]);
  });

  test("members keep the second source when the first is missing, invalid or not trusted", () => {
    for (const lost of [undefined, { trouble: "it has no tls.key" }, { lastsMs: 0 }, { by: NEXT }]) {
      expect(nameIn(formerly(halfWay, lost))).toBe("their-peer");
      const there = withMade(formerly(halfWay, lost), { peer: { by: NEXT, isOurs: false } });
      expect([nameIn(there), trustIn(there)]).toEqual(["their-peer", three]);
    }
    expect(nameIn(formerly(halfWay, {}))).toBe("my-etcd-peer-tls");
  });
});
