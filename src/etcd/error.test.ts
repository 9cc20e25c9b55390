import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { test } from "vitest";
import { OperatorError } from "#base/error.ts";
import { type EtcdRefusal, REFUSAL_TEXTS, refusalOf, translateError } from "./error.ts";

const call = { method: "Put", address: "10.0.0.1:2379", signal: new AbortController().signal };

/** An error as the transport throws it when the member itself sent the status. */
function answered(code: Code, text: string): ConnectError {
  return new ConnectError(text, code, { "grpc-status": String(code) });
}

test.each([
  {
    name: "a refusal",
    thrown: answered(Code.InvalidArgument, "etcdserver: key is not provided"),
    code: "EtcdRejected",
  },
  {
    name: "a timeout that the member reports",
    thrown: answered(Code.Unavailable, "etcdserver: request timed out"),
    code: "EtcdUnavailable",
  },
  {
    name: "a leader transfer that timed out",
    thrown: answered(Code.Unknown, "etcdserver: request timed out, leader transfer took too long"),
    code: "EtcdUnavailable",
  },
  {
    name: "a deadline that passed in the member",
    thrown: answered(Code.DeadlineExceeded, "x"),
    code: "EtcdUnavailable",
  },
  {
    name: "a member that is stopping",
    thrown: answered(Code.Canceled, "etcdserver: request canceled"),
    code: "EtcdUnavailable",
  },
  {
    name: "a known refusal sent as Unavailable",
    thrown: answered(Code.Unavailable, "etcdserver: unhealthy cluster"),
    code: "EtcdRejected",
  },
  {
    name: "a deadline that passed in the client",
    thrown: new ConnectError("x", Code.DeadlineExceeded),
    code: "EtcdUnavailable",
  },
  {
    name: "no connection",
    thrown: new ConnectError("connect ECONNREFUSED", Code.Unavailable),
    code: "EtcdUnavailable",
  },
  {
    name: "a failed TLS handshake",
    thrown: new ConnectError("self-signed certificate", Code.Internal),
    code: "EtcdUnavailable",
  },
  {
    name: "a connection that the client aborted",
    thrown: new ConnectError("connection aborted", Code.Canceled),
    code: "EtcdUnavailable",
  },
  { name: "any other error", thrown: new TypeError("x"), code: "EtcdUnavailable" },
])("$name becomes error $code", ({ thrown, code }) => {
  const error = translateError(call, thrown);
  assert.equal(error.code, code);
  assert.ok(error.cause instanceof ConnectError);
});

test("any error after the caller's cancellation becomes Cancelled", () => {
  const error = translateError({ ...call, signal: AbortSignal.abort() }, new ConnectError("x", Code.Canceled));
  assert.equal(error.code, "Cancelled");
});

test("an error's message has the call, the address and etcd's own text", () => {
  const error = translateError(call, answered(Code.NotFound, "etcdserver: member not found"));
  assert.equal(error.message, "Put at 10.0.0.1:2379: etcdserver: member not found");
});

test("every known refusal by etcd is recognised by its text, whatever its gRPC status is", () => {
  for (const [refusal, text] of Object.entries(REFUSAL_TEXTS)) {
    for (const code of [Code.FailedPrecondition, Code.Unavailable]) {
      const error = translateError(call, answered(code, text));
      assert.equal(refusalOf(error), refusal as EtcdRefusal);
      assert.equal(error.code, "EtcdRejected");
    }
  }
});

test("other errors are not recognised as refusals by etcd", () => {
  assert.equal(refusalOf(translateError(call, answered(Code.Internal, "etcdserver: something new"))), undefined);
  assert.equal(refusalOf(new OperatorError("EtcdRejected", REFUSAL_TEXTS.MemberNotFound)), undefined);
  assert.equal(refusalOf(new Error(REFUSAL_TEXTS.MemberNotFound)), undefined);
  assert.equal(refusalOf(undefined), undefined);
});
