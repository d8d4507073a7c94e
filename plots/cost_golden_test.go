package plots

// costGoldens are the pictures kept of the cost figures.
func costGoldens() map[string]func(Options) (*Figure, error) {
	return map[string]func(Options) (*Figure, error){
		costLifetimeName: func(o Options) (*Figure, error) { return CostLifetime(exampleLifetime(), o) },
		costBatchName:    func(o Options) (*Figure, error) { return CostBatch(exampleBatch(2048, 8192, 32768), o) },
		costContextName:  func(o Options) (*Figure, error) { return CostContext(exampleContext(), o) },
		costStepName:     func(o Options) (*Figure, error) { return CostStep(exampleStepTime(), o) },
		costFrontierName: func(o Options) (*Figure, error) { return CostFrontier(exampleFrontier(), o) },
		costRooflineName: func(o Options) (*Figure, error) { return CostRoofline(exampleRoofline(), o) },
	}
}
