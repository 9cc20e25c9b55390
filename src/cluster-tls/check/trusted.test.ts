import { expect, test } from "vitest";
import { idOf, parsedIn } from "#certificates/pem.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { withUnknownKey } from "#kit/snapshots/certificates.ts";
import { bundle, OWN, running, secured, started } from "#kit/snapshots/cluster-tls.ts";
import { CORP_PEM as CORP, RENEWED_PEM as RENEWED } from "#kit/tables/authorities.ts";
import { membersRejecting, membersTrustingMore, membersWithoutCa, trustingAs } from "./trusted.ts";

/** A CA with the name of CORP and a different key; made with openssl, like CORP. */
const NAMESAKE = `-----BEGIN CERTIFICATE-----
MIIBYjCCAQigAwIBAgIBAzAKBggqhkjOPQQDAjAPMQ0wCwYDVQQDDARjb3JwMCAX
DTI2MTEyMjE5NDMxOVoYDzIxMjYxMDI5MTk0MzE5WjAPMQ0wCwYDVQQDDARjb3Jw
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEq7ceWKm3SUyYfVCQBw6hbpP285tu
egsPxr+87WQXILIWMHqSUWrVLueKwLhaJl71uC5WLCYaS3ZuuHnLRXK0rKNTMFEw
HQYDVR0OBBYEFB2A++OVfEm5Zlfz1MmdY6nkqUUJMB8GA1UdIwQYMBaAFB2A++OV
fEm5Zlfz1MmdY6nkqUUJMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAw
RQIhAM9lxMcR4wZaIoNdxwCO2H54m8haHhBqfFiIwq5qK601AiBUqHqEsOgqgflH
lUzLlYMc3YFTqk+FAOAjBKsd/ivXKw==
-----END CERTIFICATE-----
`;

const settled = secured();
const trusting = (trust: string) =>
  begin(settled)
    .apply(running, undefined, { peer: { secretName: "my-etcd-peer-tls", trust } })
    .apply(started).snapshot;
const signedBy = (signer: string, trust = signer) => ({ signerId: idOf(parsedIn(signer)[0]!), trust });
const { podTemplate } = settled.peers[0]!.spec;
const ALL = ["my-etcd-0", "my-etcd-1", "my-etcd-2"];

test("members that trust the old certificate of a renewed CA accept its certificates", () => {
  expect(membersRejecting(trusting(CORP), "peer", signedBy(RENEWED))).toEqual([]);
  expect(membersRejecting(trusting(bundle(OWN) + CORP), "peer", signedBy(RENEWED, OWN.pem + RENEWED))).toEqual([]);
  expect(membersWithoutCa(trusting(CORP), "peer", [idOf(parsedIn(RENEWED)[0]!)])).toEqual(ALL);
});

test("members reject a CA of the same name with a different key, and an unknown CA", () => {
  expect(membersRejecting(trusting(CORP), "peer", signedBy(NAMESAKE))).toEqual(ALL);
  expect(membersRejecting(trusting(OWN.pem), "peer", signedBy(CORP))).toEqual(ALL);
});

test("a CA with an unknown kind of key in a bundle is ignored without an error", () => {
  const unknown = withUnknownKey(CORP);
  expect(membersRejecting(trusting(unknown + CORP), "peer", signedBy(RENEWED))).toEqual([]);
  expect(membersRejecting(trusting(unknown), "peer", signedBy(CORP))).toEqual(ALL);
  expect(membersRejecting(trusting(OWN.pem + unknown), "peer", signedBy(CORP, CORP + unknown))).toEqual(ALL);
});

test("a member lacks trust in a CA when its EtcdPeer or its pod lacks it", () => {
  const half = running(trusting(OWN.pem), ["my-etcd-2"], { peer: { secretName: "my-etcd-peer-tls", trust: CORP } });
  expect(membersRejecting({ ...half, peers: trusting(CORP).peers }, "peer", signedBy(CORP))).toEqual([
    "my-etcd-0",
    "my-etcd-1",
  ]);
  expect(membersRejecting({ ...trusting(CORP), peers: half.peers }, "peer", signedBy(CORP))).toEqual([
    "my-etcd-0",
    "my-etcd-1",
  ]);
  const absent = { ...trusting(CORP), pods: new Map() };
  expect(membersRejecting(absent, "peer", signedBy(CORP))).toEqual([]);
});

test("members trust more than a bundle only if it lacks one of their CAs", () => {
  expect(membersTrustingMore(trusting(CORP), "peer", bundle(OWN) + CORP)).toEqual([]);
  expect(membersTrustingMore(trusting(bundle(OWN) + CORP), "peer", CORP)).toEqual(ALL);
});

test("no member lacks trust in a certificate with an unknown signer", () => {
  expect(membersRejecting(trusting(OWN.pem), "peer", { signerId: undefined, trust: CORP })).toEqual([]);
});

test("trustingAs takes trust and signer from the second template and keeps the rest", () => {
  const peer = { secretName: "my-etcd-peer-tls", trust: "A", signer: "a", scheme: "http" } as const;
  const client = { secretName: "my-etcd-server-tls", trust: "A", clientCertificates: "Required" as const };
  const own = { podTemplate, version: "3.6.16", tls: { minVersion: "TLS1.3", peer, client } } as const;
  const other = {
    podTemplate,
    version: "3.6.17",
    tls: {
      peer: { secretName: "my-etcd-peer-tls", trust: "B" },
      client: {
        secretName: "my-etcd-server-tls",
        trust: "A, B",
        signer: "b",
        clientCertificates: "NotRequired" as const,
      },
    },
  };
  expect(trustingAs(own, other)).toEqual({
    podTemplate,
    version: "3.6.16",
    tls: {
      minVersion: "TLS1.3",
      peer: { secretName: "my-etcd-peer-tls", trust: "B", scheme: "http" },
      client: { secretName: "my-etcd-server-tls", trust: "A, B", signer: "b", clientCertificates: "Required" },
    },
  });
});

test("trustingAs changes nothing when the side or the Secret of the second template differs", () => {
  const peer = { secretName: "my-etcd-peer-tls", trust: "A" };
  const theirs = { podTemplate, version: "3.6.17", tls: { peer: { secretName: "theirs", trust: "B" } } };
  const own = { podTemplate, version: "3.6.16", tls: { peer } };
  expect(trustingAs(own, theirs)).toEqual(own);
  expect(trustingAs(own, { podTemplate, version: "3.6.17" })).toEqual(own);
  expect(trustingAs({ podTemplate, version: "3.6.16" }, own)).toEqual({ podTemplate, version: "3.6.16" });
  const client = { secretName: "my-etcd-peer-tls", trust: "B", clientCertificates: "Required" as const };
  expect(trustingAs(own, { podTemplate, version: "3.6.17", tls: { client } })).toEqual(own);
});
