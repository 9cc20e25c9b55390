import { parentPort } from "node:worker_threads";
import { asOperatorError } from "#base/error.ts";
import { silentLog } from "#base/log.ts";
import { parsed, RefusedBody } from "./body.ts";
import { answerConversion } from "./conversion.ts";

// The program of the conversion thread (conversion-thread.ts). Receives a body and sends the response.

/** Messages of the thread. */
export type FromThread =
  | { readonly is: "ready" }
  | { readonly is: "log"; readonly because: string; readonly message: string }
  | { readonly is: "answer"; readonly body: Uint8Array<ArrayBuffer> }
  | { readonly is: "refused"; readonly status: number; readonly message: string }
  | { readonly is: "failed"; readonly message: string };

const log = {
  ...silentLog,
  info: ({ because = "" }: { because?: string }, message: string) => post({ is: "log", because, message }),
};

parentPort?.on("message", (body: Uint8Array) => {
  const answer = answerTo(body);
  post(answer, answer.is === "answer" ? [answer.body.buffer] : []);
});
post({ is: "ready" });

function answerTo(body: Uint8Array): FromThread {
  try {
    const text = JSON.stringify(answerConversion(parsed(body), log));
    return { is: "answer", body: new TextEncoder().encode(text) };
  } catch (thrown) {
    if (thrown instanceof RefusedBody) return { is: "refused", status: thrown.status, message: thrown.message };
    const { code, message } = asOperatorError(thrown);
    return code === "InvalidSpec" ? { is: "refused", status: 400, message } : { is: "failed", message };
  }
}

function post(message: FromThread, transfer: ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transfer);
}
