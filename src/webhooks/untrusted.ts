import { OperatorError } from "#base/error.ts";
import { isMap, quoted } from "#base/json.ts";

// Validation of requests to webhooks: any client that reaches the port can send them.

/**
 * Returns the value as an object.
 * @param where path of the field, for the message
 * @throws OperatorError InvalidSpec when the value is not an object
 */
export function record(value: unknown, where: string): Readonly<Record<string, unknown>> {
  if (isMap(value)) return value;
  throw invalid(`${where} is ${quoted(value)}; it must be an object`);
}

/** Returns the value as a text. @throws OperatorError InvalidSpec when the value is not a string, or is empty */
export function text(value: unknown, where: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw invalid(`${where} is ${quoted(value)}; it must be a string`);
}

export function invalid(sentence: string): OperatorError {
  return new OperatorError("InvalidSpec", sentence);
}

/** @throws OperatorError InvalidSpec when it is not exactly this */
export function expect(where: string, is: unknown, mustBe: string): void {
  if (is !== mustBe) throw invalid(`${where} is ${quoted(is)}; it must be ${mustBe}`);
}
