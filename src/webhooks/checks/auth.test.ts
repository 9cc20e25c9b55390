import { expect, test } from "vitest";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { cluster } from "#kit/cluster.ts";
import { guarded, withAuth } from "#kit/cluster-auth.ts";
import { secured } from "#kit/cluster-tls.ts";
import { authRefusals } from "#webhooks/checks/auth.ts";

const plain = cluster().cluster;
const secure = secured().cluster;
const unverified = secured({}, { client: { verifyClients: false } }).cluster;
const on = guarded({ recorded: true }).cluster;
const wanting = (of: EtcdCluster, enabled = true): EtcdCluster => ({ ...of, spec: { ...of.spec, auth: { enabled } } });
const fresh = leftOpen(cluster({ stage: "new" }).cluster);
/** Says nothing of TLS. */
function leftOpen(of: EtcdCluster): EtcdCluster {
  const { tls: _, ...spec } = of.spec;
  return { ...of, spec };
}
const NEED = /^it is true; it needs spec\.tls\.client .* verifyClients true/;

test.each<{ name: string; is: EtcdCluster; was?: EtcdCluster; refused?: readonly [string, RegExp] }>([
  { name: "users with client certificates", is: wanting(secure), was: secure },
  {
    name: "users without TLS on a cluster that is there",
    is: wanting(plain),
    was: plain,
    refused: ["spec.auth.enabled", NEED],
  },
  { name: "users of a new cluster that says nothing of TLS", is: wanting(fresh) },
  {
    name: "users of a new one without client certificates",
    is: wanting(unverified),
    refused: ["spec.auth.enabled", NEED],
  },
  { name: "what was so already", is: wanting(plain), was: wanting(plain) },
  { name: "no users without TLS", is: wanting(plain, false), was: plain },
  {
    name: "client certificates taken away from users",
    is: { ...on, spec: { ...on.spec, tls: unverified.spec.tls! } },
    was: on,
    refused: ["spec.auth.enabled", NEED],
  },
  {
    name: "client certificates taken away, when it is left out who logs in",
    is: { ...unverified, status: on.status! },
    was: on,
    refused: [
      "spec.tls.client",
      /set spec\.auth\.enabled to false first, and wait until status\.auth\.enabled is false/,
    ],
  },
  { name: "client certificates taken away where nobody logs in", is: unverified, was: secure },
  {
    name: "and where it has been switched off",
    is: unverified,
    was: withAuth(secured(), { wanted: false, recorded: false }).cluster,
  },
])("$name", ({ is, was, refused }) => {
  const found = authRefusals(is, was);
  expect(found.map(({ field }) => field)).toEqual(refused === undefined ? [] : [refused[0]]);
  if (refused !== undefined) expect(found[0]?.message).toMatch(refused[1]);
});
