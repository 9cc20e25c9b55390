import { expect, test } from "vitest";
import { CLAIM_RELEASE_ANNOTATION } from "#api/names.ts";
import { type Observed, present } from "#base/observed.ts";
import type { EndpointStatus } from "#etcd/types.ts";
import { claim } from "#kit/snapshots/cluster.ts";
import { peer } from "#kit/snapshots/peer.ts";
import { recordRelease } from "#peer/rules/claim.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";

const settled = peer();
const answer = settled.endpoint?.is === "present" ? settled.endpoint.value : undefined;

/** The member with this answer; its claim has release 3.6.16. */
function answering(change: Partial<EndpointStatus>): PeerSnapshot {
  return { ...settled, endpoint: present({ ...answer!, ...change }) };
}

const silent: Observed<EndpointStatus> = { is: "unknown", why: "timeout" };

test.each<{ name: string; given: PeerSnapshot; release: string | undefined }>([
  { name: "nothing is recorded when the claim has the release", given: settled, release: undefined },
  { name: "a newer release is recorded on the claim", given: answering({ version: "3.6.17" }), release: "3.6.17" },
  { name: "an older release is recorded on the claim", given: answering({ version: "3.5.35" }), release: "3.5.35" },
  { name: "a custom build is not recorded", given: answering({ version: "mine" }), release: undefined },
  {
    name: "the release of another member is not recorded",
    given: answering({ version: "3.6.17", memberId: 7n as never }),
    release: undefined,
  },
  {
    name: "the release of a member of another cluster is not recorded",
    given: answering({ version: "3.6.17", clusterId: 7n as never }),
    release: undefined,
  },
  {
    name: "nothing is recorded when the member does not answer",
    given: { ...settled, endpoint: silent },
    release: undefined,
  },
  {
    name: "nothing is recorded when the member was not called",
    given: { ...settled, endpoint: undefined },
    release: undefined,
  },
  {
    name: "nothing is recorded without a claim",
    given: { ...answering({ version: "3.6.17" }), claim: undefined },
    release: undefined,
  },
  {
    name: "nothing is recorded on another member's claim",
    given: { ...answering({ version: "3.6.17" }), claim: claim("my-etcd-0") },
    release: undefined,
  },
  {
    name: "nothing is recorded for a member without a known ID",
    given: { ...peer({ spec: { memberID: undefined } }), endpoint: present({ ...answer!, version: "3.6.17" }) },
    release: undefined,
  },
])("record-release: $name", ({ given, release }) => {
  const opinion = recordRelease.decide(given);
  const written =
    opinion?.next === "step" && opinion.step.do === "annotateClaim" ? opinion.step.annotations : undefined;
  expect(written).toEqual(release === undefined ? undefined : { [CLAIM_RELEASE_ANNOTATION]: release });
});
