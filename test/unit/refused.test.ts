import { expect, test } from "vitest";
import { refusedIn } from "#kit/e2e/refused.ts";

// Errors as clients received them: the operator's own client, Node, and etcdctl.

const REFUSED = [
  "Put at my-etcd-client.a.svc:2379: its certificate is not signed by a CA that is trusted here: unable to verify the first certificate",
  "Put at my-etcd-client.a.svc:2379: the server rejects our certificate: tlsv1 alert unknown ca",
  "Range at my-etcd-client.a.svc:2379: the server does not use TLS on this port",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE unable to verify the first certificate",
  "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED SSL alert number 116",
  'connection error: desc = "transport: authentication handshake failed: x509: certificate signed by unknown authority"',
  "remote error: tls: bad certificate",
  "rpc error: code = DeadlineExceeded desc = latest balancer error: write tcp 10.0.0.1:36440->10.0.0.2:2379: write: broken pipe",
  "Put at my-etcd-client.a.svc:2379: etcdserver: permission denied",
  "etcdserver: authentication failed, invalid user ID or password",
  "etcdserver: invalid auth token",
  "etcdserver: user name not found",
  '500 {"error":"etcdserver: permission denied"}',
];

const CUT_OFF = [
  "Put at my-etcd-client.a.svc:2379: connect ECONNREFUSED 10.96.0.12:2379",
  "Put at my-etcd-client.a.svc:2379: etcdserver: leader changed",
  "Range at my-etcd-client.a.svc:2379: Stream closed with error code NGHTTP2_CANCEL",
  "ECONNRESET socket hang up",
  "context deadline exceeded",
  'rpc error: code = DeadlineExceeded desc = latest balancer error: connection error: desc = "transport: Error while dialing: dial tcp 10.0.0.2:2379: connect: connection refused"',
  "etcdserver: user name is empty",
  "Put at my-etcd-client.a.svc:2379: etcdserver: revision of auth store is old",
];

test("errors of refused certificates, logins and permissions are distinguished from errors of broken connections", () => {
  expect(refusedIn([...CUT_OFF, ...REFUSED])).toEqual(REFUSED);
  expect(refusedIn(CUT_OFF)).toEqual([]);
});
