import { Option } from "effect"

/** Maximum rewarded referrals per code and UTC day. */
export const maximumDailyReferralRewards = 10

const pattern = /^[A-Za-z0-9-]{1,20}$/

/** Parses a referral code into its stored form (lower case); none for invalid text. */
export const parseReferralCode = (text: string): Option.Option<string> =>
  pattern.test(text) ? Option.some(text.toLowerCase()) : Option.none()

/** Derives the code of a new user: ten letters and digits of a random token. */
export const makeReferralCode = (token: string): string =>
  token
    .replace(/[^A-Za-z0-9]/g, "")
    .toLowerCase()
    .slice(0, 10)
