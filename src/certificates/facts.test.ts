import { X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import { addressText, factsOf } from "#certificates/facts.ts";
import { idOf, type KeyPair } from "#certificates/pem.ts";
import { intermediate, renewed } from "#kit/etcd/certified-authority.ts";
import { authority, DAY_MS, dataOf, leaf, NOW_MS, secretOf, withUnknownKey } from "#kit/snapshots/certificates.ts";

const ca = await authority();
const other = await authority("another CA");
const pair = await leaf(ca);
const id = ({ certificate }: KeyPair) => idOf(new X509Certificate(certificate));
const good = dataOf(pair, ca.certificate + other.certificate);

describe("a Secret with a certificate", () => {
  test.each([
    ["the time of the only writer", ["2026-01-01T11:00:00Z"], "2026-01-01T11:00:00Z"],
    [
      "the latest time of several writers",
      ["2026-01-01T11:00:00Z", "2026-01-01T12:00:00Z", "2026-01-01T10:00:00Z"],
      "2026-01-01T12:00:00Z",
    ],
    ["no known time without writers", [], undefined],
    ["no known time when a writer has no time", ["2026-01-01T11:00:00Z", undefined], undefined],
  ])("has as the time of its last write %s", (_, times, expected) => {
    const managedFields = times.map((time) => (time === undefined ? {} : { time }));
    const { writtenAtMs } = factsOf(secretOf("a", good, { managedFields }), "leaf");
    expect(writtenAtMs).toBe(expected && Date.parse(expected));
    expect(factsOf(secretOf("a", good), "leaf").writtenAtMs).toBeUndefined();
  });

  test("has all public facts", () => {
    const owner = { ownerReferences: [{ apiVersion: "a", kind: "b", name: "c", uid: "owner", controller: true }] };
    expect(factsOf(secretOf("my-etcd-peer-tls", good, owner), "leaf")).toEqual({
      secretName: "my-etcd-peer-tls",
      uid: "uid-of-my-etcd-peer-tls",
      resourceVersion: "1",
      ownerUid: "owner",
      notBeforeMs: NOW_MS - DAY_MS,
      notAfterMs: NOW_MS + 90 * DAY_MS,
      lifeMs: 91 * DAY_MS,
      fingerprint: id(pair),
      issuerName: new X509Certificate(ca.certificate).subject,
      commonName: "",
      names: ["*.my-etcd.foo.svc", "localhost", "127.0.0.1", "::1"],
      usages: ["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"],
      trust: ca.certificate + other.certificate,
      trustIds: [id(ca), id(other)],
      signerId: id(ca),
      nextId: undefined,
      rotatedFor: undefined,
      certificateName: undefined,
      madeFor: undefined,
      given: undefined,
      mayBeShown: false,
      trouble: undefined,
    });
  });

  test("has mayBeShown when its label lets EtcdClusters use it", () => {
    const labels = { "etcd.improbable.io/tls": "true" };
    expect(factsOf(secretOf("a", good, { labels }), "leaf").mayBeShown).toBe(true);
  });

  test("has the name of its cert-manager Certificate", () => {
    const annotations = { "cert-manager.io/certificate-name": "my-etcd-peer-tls" };
    expect(factsOf(secretOf("a", good, { annotations }), "leaf").certificateName).toBe("my-etcd-peer-tls");
  });

  test("has no part of a key", () => {
    const printed = JSON.stringify(factsOf(secretOf("a", { ...good, "next.key": other.key }), "leaf"));
    for (const key of [pair.key, other.key]) {
      const [, line = ""] = key.split("\n");
      expect(line.length).toBeGreaterThan(20);
      expect(printed).not.toContain(line);
      expect(printed).not.toContain("PRIVATE");
    }
  });

  const short = { fromMs: NOW_MS - DAY_MS, untilMs: NOW_MS + DAY_MS };
  test("expires with the first certificate of its chain to expire", async () => {
    const ended = await leaf(ca, short);
    const chain = { ...good, "tls.crt": pair.certificate + ended.certificate };
    expect(factsOf(secretOf("a", chain), "leaf").notAfterMs).toBe(NOW_MS + DAY_MS);
  });

  const cases: { name: string; with: Record<string, string>; trouble: string | undefined }[] = [
    { name: "a complete Secret (none)", with: {}, trouble: undefined },
    { name: "a missing tls.key", with: { "tls.key": "" }, trouble: "it has no tls.key" },
    { name: "a missing tls.crt", with: { "tls.crt": "" }, trouble: "it has no tls.crt" },
    { name: "a blank ca.crt", with: { "ca.crt": " \n" }, trouble: "it has no ca.crt" },
    { name: "a tls.crt that is no PEM", with: { "tls.crt": "x" }, trouble: "its tls.crt is not a PEM certificate" },
    { name: "a ca.crt that is no PEM", with: { "ca.crt": "x" }, trouble: "its ca.crt is not a PEM certificate" },
    {
      name: "a key of another certificate",
      with: { "tls.key": other.key },
      trouble: "its tls.key is not the key of its tls.crt",
    },
    {
      name: "a tls.key that is no PEM",
      with: { "tls.key": "x" },
      trouble: "its tls.key is not the key of its tls.crt",
    },
    {
      name: "a ca.crt with only a CA that did not sign",
      with: { "ca.crt": other.certificate },
      trouble: "its tls.crt is not signed by any CA in its ca.crt",
    },
  ];
  test.each(cases)("has the right message for $name", ({ with: changed, trouble }) => {
    expect(factsOf(secretOf("a", { ...good, ...changed }), "leaf").trouble).toBe(trouble);
  });

  test("is valid when one CA signed it and another CA has an unknown kind of key", () => {
    const unknown = withUnknownKey(ca.certificate);
    const facts = factsOf(secretOf("a", dataOf(pair, unknown + ca.certificate)), "leaf");
    expect(facts).toMatchObject({ trouble: undefined, signerId: id(ca) });
    expect(facts.trustIds).toHaveLength(2);
    expect(factsOf(secretOf("a", dataOf(pair, unknown)), "leaf").trouble).toBe(
      "its tls.crt is not signed by any CA in its ca.crt",
    );
  });

  test("without any data has a message and no other facts", () => {
    const { data: _, ...empty } = secretOf("a", {});
    expect(factsOf(empty, "leaf")).toMatchObject({
      trouble: "it has no tls.crt",
      notAfterMs: 0,
      fingerprint: "",
      trust: "",
    });
  });
});

describe("the validity of a certificate", () => {
  const during = (first: number, last: number) => ({
    fromMs: NOW_MS + first * DAY_MS,
    untilMs: NOW_MS + last * DAY_MS,
  });
  /** Its first and its last day. */
  const daysOf = (shown: KeyPair, ...trust: readonly KeyPair[]) => {
    const all = trust.map(({ certificate }) => certificate).join("");
    const { notBeforeMs, notAfterMs, trouble } = factsOf(secretOf("a", dataOf(shown, all)), "leaf");
    return trouble ?? [notBeforeMs, notAfterMs].map((ms) => (ms - NOW_MS) / DAY_MS);
  };
  const OWN = [-1, 90];

  test("is limited by the validity of the CA that signed it", async () => {
    expect(daysOf(pair, ca)).toEqual(OWN);
    expect(daysOf(pair, await renewed(ca, during(-400, -1)))).toEqual([-1, -1]);
    expect(daysOf(pair, await renewed(ca, during(5, 500)))).toEqual([5, 90]);
  });

  test("is limited by the longest-lived CA certificate of the same name and key, in any order", async () => {
    const [ended, soon] = [await renewed(ca, during(-400, -1)), await renewed(ca, during(-400, 7))];
    const later = await renewed(ca, during(5, 500));
    expect(daysOf(pair, ended, ca)).toEqual(OWN);
    expect(daysOf(pair, ca, ended)).toEqual(OWN);
    expect(daysOf(pair, soon, ended)).toEqual([-1, 7]);
    expect(daysOf(pair, soon, later)).toEqual(OWN);
  });

  test("has the shortest lifetime of all certificates in its chain", async () => {
    const lifeOf = (shown: KeyPair, ...trust: readonly KeyPair[]) => {
      const all = trust.map(({ certificate }) => certificate).join("");
      return factsOf(secretOf("a", dataOf(shown, all)), "leaf").lifeMs / DAY_MS;
    };
    expect(lifeOf(pair, ca)).toBe(91);
    expect(lifeOf(pair, await renewed(ca, during(-1, 6)))).toBe(7);
    expect(lifeOf(pair, await renewed(ca, during(-1, 6)), ca)).toBe(91);
    const intermediateCA = await intermediate(ca, during(-1, 29));
    const single = await leaf(intermediateCA);
    expect(lifeOf({ ...pair, certificate: pair.certificate + intermediateCA.certificate }, ca)).toBe(30);
    expect(lifeOf(single, intermediateCA)).toBe(30);
  });

  test("does not depend on CAs that did not sign it", async () => {
    expect(daysOf(pair, await renewed(other, during(-400, -1)), ca)).toEqual(OWN);
  });

  test("is limited by all intermediates and the root, unless an intermediate is trusted itself", async () => {
    const intermediateCA = await intermediate(ca, during(-1, 60));
    const single = await leaf(intermediateCA);
    const chain = { ...single, certificate: single.certificate + intermediateCA.certificate };
    const ended = await renewed(ca, during(-400, 3));
    expect(daysOf(chain, ca)).toEqual([-1, 60]);
    expect(daysOf(chain, ended)).toEqual([-1, 3]);
    expect(daysOf(chain, ended, intermediateCA)).toEqual([-1, 60]);
    expect(daysOf(chain, await renewed(intermediateCA, during(-400, -1)), ca)).toEqual([-1, 60]);
    expect(daysOf(single, ended, intermediateCA)).toEqual([-1, 60]);
  });
});

describe("the Secret of a CA", () => {
  const own = dataOf(ca, ca.certificate);
  const both = {
    ...own,
    "ca.crt": ca.certificate + other.certificate,
    "next.crt": other.certificate,
    "next.key": other.key,
  };
  test("has the next CA and the request of the last rotation", () => {
    const annotations = { "etcd.improbable.io/rotated-for": "all" };
    const facts = factsOf(secretOf("a", both, { annotations }), "authority");
    expect(facts).toMatchObject({
      trouble: undefined,
      nextId: id(other),
      rotatedFor: "all",
      trustIds: [id(ca), id(other)],
    });
  });

  const cases: { name: string; data: Record<string, string>; trouble: string | undefined }[] = [
    { name: "a complete CA Secret (none)", data: own, trouble: undefined },
    {
      name: "a leaf certificate",
      data: good,
      trouble: "its tls.crt is not a self-signed CA; for an intermediate CA use the provider CertManager or Secret",
    },
    {
      name: "a ca.crt without the CA itself",
      data: dataOf(ca, other.certificate),
      trouble: "its tls.crt is not among its ca.crt",
    },
    {
      name: "a next.key without next.crt",
      data: { ...own, "next.key": other.key },
      trouble: "it has next.key without next.crt",
    },
    {
      name: "a next.key of another certificate",
      data: { ...both, "next.key": ca.key },
      trouble: "its next.key is not the key of its next.crt",
    },
  ];
  test.each(cases)("has the right message for $name", ({ data, trouble }) => {
    expect(factsOf(secretOf("a", data), "authority").trouble).toBe(trouble);
  });
});

test("addressText returns IP addresses in canonical form", () => {
  expect(["127.0.0.1", "0:0:0:0:0:0:0:1", "FD00::0001", "x:y"].map(addressText)).toEqual([
    "127.0.0.1",
    "::1",
    "fd00::1",
    "x:y",
  ]);
});
