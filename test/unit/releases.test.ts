import { describe, expect, test } from "vitest";
import { revisionOf } from "#api/revision.ts";
import { releases, wantedFor, writtenBy, writtenNow } from "#kit/releases.ts";

// An update of the operator restarts no member: this build wants the EtcdPeers and ReplicaSets that each release wrote.
// If this fails on purpose, members restart with the update. Then the changelog must say so.

test("the first release has a file", () => {
  expect(releases()[0]).toBe("0.2.0");
});

describe.each(releases())("of clusters that release %s made,", (release) => {
  const written = writtenBy(release);

  test.each(Object.entries(written))("one %s keeps its EtcdPeers and ReplicaSets", (_, each) => {
    const { template, peer, replicaSet } = wantedFor(each);
    const [stored] = each.peers;
    expect(template).toBe(stored && revisionOf(stored.spec));
    expect(asJson(peer.spec)).toEqual(stored?.spec);
    expect(peer.metadata.annotations).toEqual(stored?.metadata.annotations);
    expect(asJson(replicaSet)).toEqual(each.replicaSet);
  });

  test("a changed spec is noticed", () => {
    const [one] = Object.values(written);
    if (one === undefined) throw new Error(`${release} has no samples`);
    const edited = {
      ...one,
      cluster: { ...one.cluster, spec: { ...one.cluster.spec, etcd: { heartbeatInterval: "200ms" } } },
    };
    expect(wantedFor(edited).template).not.toBe(wantedFor(one).template);
  });
});

test("samples are as the API server would store them", () => {
  for (const { cluster } of Object.values(writtenNow())) expect(cluster.spec.tls).toBeDefined();
});

/** The object without fields that are undefined, since JSON has none. */
function asJson(object: unknown): unknown {
  return JSON.parse(JSON.stringify(object));
}
