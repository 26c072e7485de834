import { Option } from "effect"

/** Referrals per code and UTC day that are rewarded. */
export const maximumDailyReferralRewards = 10

const pattern = /^[A-Za-z0-9-]{1,20}$/

/** A referral code in its stored form (lower case), or none when the text cannot be one. */
export const parseReferralCode = (text: string): Option.Option<string> =>
  pattern.test(text) ? Option.some(text.toLowerCase()) : Option.none()

/** The code of a new user: ten letters and digits of a random token. */
export const makeReferralCode = (token: string): string =>
  token
    .replace(/[^A-Za-z0-9]/g, "")
    .toLowerCase()
    .slice(0, 10)
