import { Layer } from "effect"
import * as PostgresBillingHistory from "./PostgresBillingHistory.ts"
import * as PostgresBudgets from "./PostgresBudgets.ts"
import * as PostgresCardCustomerRepository from "./PostgresCardCustomerRepository.ts"
import * as PostgresCardEventRepository from "./PostgresCardEventRepository.ts"
import * as PostgresCreditAdjustments from "./PostgresCreditAdjustments.ts"
import * as PostgresCreditGrants from "./PostgresCreditGrants.ts"
import * as PostgresCreditPurchases from "./PostgresCreditPurchases.ts"
import * as PostgresLedgerAudit from "./PostgresLedgerAudit.ts"
import * as PostgresPurchaseAttempts from "./PostgresPurchaseAttempts.ts"
import * as PostgresReservationRepository from "./PostgresReservationRepository.ts"
import * as PostgresStorageEntitlements from "./PostgresStorageEntitlements.ts"
import * as PostgresSubscriptionRepository from "./PostgresSubscriptionRepository.ts"

export const layer = Layer.mergeAll(
  PostgresBillingHistory.layer,
  PostgresBudgets.layer,
  PostgresCardCustomerRepository.layer,
  PostgresCardEventRepository.layer,
  PostgresCreditAdjustments.layer,
  PostgresCreditGrants.layer,
  PostgresCreditPurchases.layer,
  PostgresLedgerAudit.layer,
  PostgresPurchaseAttempts.layer,
  PostgresReservationRepository.layer,
  PostgresStorageEntitlements.layer,
  PostgresSubscriptionRepository.layer
)
