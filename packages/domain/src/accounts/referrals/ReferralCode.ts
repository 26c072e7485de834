import { Option } from "effect"

/** So many referrals of one UTC day give their referrer something. */
export const maximumDailyReferralRewards = 10

const pattern = /^[A-Za-z0-9-]{1,20}$/

/** A referral code as stored (lower case), or none when the text cannot be one. */
export const parseReferralCode = (text: string): Option.Option<string> =>
  pattern.test(text) ? Option.some(text.toLowerCase()) : Option.none()

/** A new user's own code: ten letters and digits out of a random token. */
export const makeReferralCode = (token: string): string =>
  token
    .replace(/[^A-Za-z0-9]/g, "")
    .toLowerCase()
    .slice(0, 10)
