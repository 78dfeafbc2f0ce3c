package api

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/metadata"
)

// UpdateFeatures, key 57, versions 0–2 (KIP-584, KIP-778).
//
// Features are always at their highest level. To ask for that is answered with success; to ask for a lower one is refused
// with INVALID_UPDATE_VERSION, also where Apache Kafka would take it.
func (c *call) updateFeatures(req *kmsg.UpdateFeaturesRequest) {
	resp := req.ResponseKind().(*kmsg.UpdateFeaturesResponse)
	for i := range req.FeatureUpdates {
		if err := c.checkUpdate(req.Version, &req.FeatureUpdates[i]); err != nil {
			resp.ErrorCode, resp.ErrorMessage = c.code(err), message(err)
			c.answer(resp)
			return
		}
	}
	if req.Version < 2 {
		for _, u := range req.FeatureUpdates {
			r := kmsg.NewUpdateFeaturesResponseResult()
			none := "NONE"
			r.Feature, r.ErrorMessage = u.Feature, &none
			resp.Results = append(resp.Results, r)
		}
	}
	c.answer(resp)
}

// The upgrade types of KIP-778.
const (
	upgrade         = 1
	safeDowngrade   = 2
	unsafeDowngrade = 3
)

func (c *call) checkUpdate(version int16, u *kmsg.UpdateFeaturesRequestFeatureUpdate) error {
	kind := u.UpgradeType
	if version == 0 {
		kind = upgrade
		if u.AllowDowngrade {
			kind = safeDowngrade
		}
	}
	f := featureNamed(u.Feature)
	why := ""
	switch level := u.MaxVersionLevel; {
	case kind < upgrade || kind > unsafeDowngrade:
		why = "The controller does not support the given upgrade type."
	case level < 0:
		why = "A feature version cannot be less than 0."
	case f == nil:
		why = fmt.Sprintf("Local controller %d does not support this feature.", c.Broker.ID)
	case level < f.min || level > f.max:
		why = fmt.Sprintf("Local controller %d only supports versions %d-%d", c.Broker.ID, f.min, f.max)
	case level == f.max:
		return nil
	case kind == upgrade:
		why = "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade."
	default:
		why = fmt.Sprintf("The level of this feature is always %d here.", f.max)
	}
	return metadata.Errorf(metadata.ErrInvalidUpdateVersion, "The update failed for all features since the following feature had an error: "+
		"Invalid update version %d for feature %s. %s", u.MaxVersionLevel, u.Feature, why)
}
