import { createHmac } from "node:crypto"

export const testCardEventSecret = "whsec_of_the_tests"

const seconds = (millis: number) => Math.floor(millis / 1000)

/** Signature header for these bytes. Default time: now, in epoch seconds. */
export const signCardEvent = (body: string, at = seconds(Date.now()), secret = testCardEventSecret): string =>
  `t=${at},v1=${createHmac("sha256", secret).update(`${at}.`).update(body).digest("hex")}`

let made = 0

/** An event in its wire format. */
export const makeCardEvent = (type: string, object: Readonly<Record<string, unknown>>) => {
  made += 1
  return {
    id: `evt_test_${made}_${process.pid}`,
    object: "event",
    type,
    created: seconds(Date.now()),
    data: { object }
  }
}

/** The webhook call of an event. */
export const cardEventRequest = (event: object, header = "cardProcessor-signature") => {
  const body = JSON.stringify(event)
  return {
    method: "POST",
    path: "/api/webhooks/cardProcessor",
    body,
    headers: { "content-type": "application/json; charset=utf-8", [header]: signCardEvent(body) }
  }
}
