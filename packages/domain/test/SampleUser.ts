import { Email } from "@berth/domain/shared/Email"
import { Credits } from "@berth/domain/shared/Money"
import { defaultNotificationPreferences, User } from "@berth/domain/shared/User"
import { UserId } from "@berth/domain/shared/UserId"
import { DateTime } from "effect"

export const sampleUser = new User({
  id: UserId.make("usr_1"),
  email: Email.make("owner@example.com"),
  emailVerifiedAt: null,
  name: "Owner",
  plan: "pro",
  credits: Credits(0),
  twoFactorEnabled: false,
  suspendedAt: null,
  notifications: defaultNotificationPreferences,
  referralCode: "owner",
  createdAt: DateTime.unsafeMake(0)
})
